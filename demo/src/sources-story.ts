import type { ActionType, SourceType } from '@dueline/contracts';
import type { RuleDraft } from '@dueline/trigger-rules';
import { ACCOUNTS, type Expectation, type Happening, marked } from './story.ts';

/** What the rules of this scene name, of one account. */
export interface Props {
  readonly form: string;
  readonly link: string;
  readonly regulars: string;
}

/** Something that any service writes in plain SQL: `sql` gets organization, account, people and what the scene names as $1 to $4. */
interface Told extends Happening {
  readonly sql: string;
  readonly prop?: keyof Props;
}

type AnyRule = RuleDraft<ActionType, SourceType>;

const users = (first: number) => ({ first, count: 5 });
const says = (text: string, lid: string) => ({
  actionType: 'send_message' as const,
  actionConfig: { messages: [marked(text, lid)] },
  frequency: 'once' as const,
});
const PEOPLE = 'unnest($3::text[]) as user_id';

/** One rule for each source besides attributes, and what sets it off. */
const SOURCES: readonly { lid: string; rule: (props: Props) => AnyRule; told: Told }[] = [
  {
    lid: 'form-thanks',
    rule: ({ form: formId }) => ({
      ...{ name: 'A form: thanks', sourceType: 'form_submitted', sourceConfig: { formId } },
      ...says('Thank you for your answers 📝', 'form-thanks'),
    }),
    told: {
      ...{ users: users(800), tell: '5 people of each account fill in a form', prop: 'form' },
      sql: `insert into form_submission (organization_id, line_oa_id, form_id, user_id, idempotency_key)
            select $1, $2, $4::bigint, user_id, gen_random_uuid() from ${PEOPLE}`,
    },
  },
  {
    lid: 'click-answer',
    rule: ({ link: trackedLinkId }) => ({
      ...{ name: 'A click: more of that', sourceType: 'campaign_click', sourceConfig: { trackedLinkId } },
      ...says('You like our shop? There is more 👀', 'click-answer'),
    }),
    told: {
      ...{ users: users(805), tell: '5 people of each account click the link of the shop', prop: 'link' },
      sql: `insert into link_click (organization_id, line_oa_id, tracked_link_id, user_id, idempotency_key)
            select $1, $2, $4::bigint, user_id, gen_random_uuid() from ${PEOPLE}`,
    },
  },
  {
    lid: 'welcome',
    rule: () => ({
      ...{ name: 'A new friend: welcome', sourceType: 'friend_track_event_inserted', sourceConfig: {} },
      ...says('Nice to have you here 👋', 'welcome'),
    }),
    told: {
      ...{ users: users(810), tell: '5 people follow each account' },
      sql: `insert into friend_track_event (organization_id, line_oa_id, user_id, type, webhook_event_id)
            select $1, $2, user_id, 'follow', gen_random_uuid() from ${PEOPLE} where $4::text is null`,
    },
  },
  {
    lid: 'booked',
    rule: () => ({
      ...{ name: 'A booking: see you', sourceType: 'booking_event', sourceConfig: {} },
      ...says('Your table is booked. See you 🍽️', 'booked'),
    }),
    told: {
      ...{ users: users(815), tell: '5 people of each account book a table' },
      sql: `with booked as (
              insert into booking (organization_id, line_oa_id, user_id, name, starts_at)
              select $1, $2, user_id, 'a table', app_now() + interval '7 days' from ${PEOPLE} where $4::text is null
              returning id, user_id)
            insert into booking_event (organization_id, line_oa_id, booking_id, user_id, type, idempotency_key)
            select $1, $2, id, user_id, 'created', gen_random_uuid() from booked`,
    },
  },
  {
    lid: 'large-order',
    rule: () => ({
      ...{ name: 'A large purchase: thanks', sourceType: 'custom_event' },
      sourceConfig: {
        name: 'purchase',
        conditions: { version: 1, when: { event: '/payload/amount', op: 'gte', value: 1_000 } },
      },
      ...says('What an order! Thank you 🛍️', 'large-order'),
    }),
    told: {
      ...{ users: users(820), tell: '5 people of each account buy for 1,500, as the shop reports' },
      sql: `insert into custom_event (organization_id, line_oa_id, user_id, name, payload, idempotency_key)
            select $1, $2, user_id, 'purchase', '{"amount": 1500}', gen_random_uuid() from ${PEOPLE} where $4::text is null`,
    },
  },
];

const CLOCK_LID = 'daily-special';
/** Whom the clock serves. */
export const REGULARS = users(825);
/** A rule that time sets off; published in its scene, so that its first midnight is one of the time machine's. */
export const clockRule = ({ regulars: audienceId }: Props): AnyRule => ({
  ...{ name: 'Each midnight: the special of the day', mode: 'draft', sourceType: 'scheduled_time' },
  sourceConfig: { cron: '@daily', audienceId, catchUpSeconds: 3 * 86_400 },
  ...says('Today: something new 🌅', CLOCK_LID),
});
export const CLOCK: Happening = {
  users: REGULARS,
  tell: `the clock shall tell ${REGULARS.count} regulars of each account, at the next midnight`,
};

/** Two rules that feed each other: each turns a person the way that sets off the other one. */
const LOOP: readonly AnyRule[] = ['left', 'right'].map((to) => ({
  ...{ name: `Whoever turns ${to} is turned back`, sourceType: 'attribute_changed', frequency: 'every_time' },
  ...{ sourceConfig: { attribute: 'turn', to }, actionType: 'set_attribute' },
  actionConfig: { key: 'turn', value: to === 'left' ? 'right' : 'left' },
}));
export const TURN: Told = {
  users: { first: 830, count: 1 },
  tell: 'one person of each account meets two rules that feed each other without end',
  sql: `update line_user set attributes = attributes || '{"turn": "left"}'
         where organization_id = $1 and line_oa_id = $2 and user_id = any($3) and $4::text is null`,
};
/** Chains that the guard must stop. */
export const LOOPS_PLANNED = ACCOUNTS.length * TURN.users.count;

/** Each account has these rules, too. */
export const sourceRules = (props: Props): readonly AnyRule[] => [...SOURCES.map(({ rule }) => rule(props)), ...LOOP];

export const TOLD: readonly Told[] = SOURCES.map(({ told }) => told);

/** What each person of a group must receive, once: at once, and by the clock. */
export const SOURCE_EXPECTATIONS: readonly Expectation[] = SOURCES.map(({ lid, told }) => ({
  ...{ act: told, users: told.users, lid, delaySeconds: 0 },
}));
export const CLOCK_EXPECTATION: Expectation = { act: CLOCK, users: REGULARS, lid: CLOCK_LID, delaySeconds: 0 };

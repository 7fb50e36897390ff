import type { ActionType } from '@dueline/contracts';
import type { RuleDraft } from '@dueline/trigger-rules';

/** Audiences that the rules name, by what becomes of them. */
export interface Audiences {
  /** Changed by nobody: every third person. */
  readonly fixed: string;
  readonly joined: string;
  /** At first everybody. */
  readonly left: string;
}

/** A rule, and the same in plain SQL: over `change`, what became of the attribute, and `attributes`, how the person is. */
export interface KnownRule {
  readonly draft: RuleDraft<ActionType>;
  /** Whether the change is of the values that the rule names; left out: any. */
  readonly named?: string;
  /** Whether its conditions hold; left out: it has none. */
  readonly holds?: string;
}

type Conditions = NonNullable<RuleDraft['sourceConfig']['conditions']>;
type Doing = Pick<RuleDraft<ActionType>, 'actionType' | 'actionConfig'>;
type Limits = Partial<Pick<RuleDraft, 'frequency' | 'cooldownSeconds' | 'mode' | 'reentry'>>;

const tell = (text: string): Doing => ({
  actionType: 'send_message',
  actionConfig: { messages: [{ type: 'text', text }] },
});
const join = (audienceId: string): Doing => ({ actionType: 'add_to_audience', actionConfig: { audienceId } });
const leave = (audienceId: string): Doing => ({ actionType: 'remove_from_audience', actionConfig: { audienceId } });

interface Source {
  readonly attribute: string;
  readonly from?: string | number | boolean | null;
  readonly to?: string | number | boolean | null;
  readonly when?: Conditions;
}

interface Asked extends Limits {
  readonly named?: string;
  readonly holds?: string;
}

function rule({ when, ...source }: Source, doing: Doing, { named, holds, ...limits }: Asked = {}): KnownRule {
  const sourceConfig = { ...source, ...(when !== undefined && { conditions: when }) };
  const name = JSON.stringify({ ...sourceConfig, ...limits }).slice(0, 200);
  const draft = { name, sourceType: 'attribute_changed', sourceConfig, frequency: 'every_time', ...doing, ...limits };
  return { draft: draft as RuleDraft<ActionType>, ...(named && { named }), ...(holds && { holds }) };
}

/** Of tier, a text: from, to, absent, limits, and what an action sets off. */
const onTier = ({ fixed, joined }: Audiences): KnownRule[] => [
  rule({ attribute: 'tier', to: 'gold' }, tell('gold'), { named: `change -> 'to' = '"gold"'`, frequency: 'once' }),
  rule({ attribute: 'tier', from: 'silver', to: 'gold' }, tell('promoted'), {
    named: `change -> 'from' = '"silver"' and change -> 'to' = '"gold"'`,
  }),
  rule({ attribute: 'tier', from: null }, join(joined), { named: `not change ? 'from'` }),
  rule({ attribute: 'tier', to: null }, tell('gone'), { named: `not change ? 'to'`, cooldownSeconds: 86_400 }),
  rule({ attribute: 'tier', from: 'gold', when: { attribute: 'points', op: 'gte', value: 500 } }, tell('rich'), {
    named: `change -> 'from' = '"gold"'`,
    holds: `proof.number(attributes -> 'points') >= 500`,
    frequency: 'once_per_hour',
  }),
  rule(
    { attribute: 'tier', to: 'gold', when: { audience: fixed, op: 'member' } },
    { actionType: 'set_attribute', actionConfig: { key: 'vip', value: true } },
    {
      named: `change -> 'to' = '"gold"'`,
      holds: `exists (select from audience_member as member where audience_id = ${fixed} and member.user_id = known.user_id)`,
    },
  ),
  rule({ attribute: 'vip', from: null, to: true }, tell('vip'), { named: `change = '{"to": true}'` }),
];

/** Of points, a number that some have as a text; and of flags. */
const onPoints = ({ joined, left }: Audiences): KnownRule[] => [
  rule({ attribute: 'points', to: 7 }, tell('seven'), { named: `change -> 'to' = '7'` }),
  rule(
    {
      attribute: 'points',
      when: {
        all: [
          { event: '/to', op: 'gte', value: 900 },
          { event: '/from', op: 'lt', value: 900 },
        ],
      },
    },
    tell('over 900'),
    { holds: `proof.number(change -> 'to') >= 900 and proof.number(change -> 'from') < 900`, frequency: 'once' },
  ),
  rule(
    { attribute: 'points', when: { not: { attribute: 'points', op: 'lt', value: 950 } } },
    {
      ...tell('tomorrow'),
      actionConfig: { messages: [{ type: 'text', text: 'tomorrow' }], delay: { mode: 'normal', seconds: 86_400 } },
    } as Doing,
    { holds: `not coalesce(proof.number(attributes -> 'points') < 950, false)` },
  ),
  rule({ attribute: 'optIn', from: true, to: false }, leave(left), {
    named: `change -> 'from' = 'true' and change -> 'to' = 'false'`,
  }),
  rule(
    { attribute: 'optIn', to: true, when: { attribute: 'tags', op: 'has_any', value: ['vip', 'beta'] } },
    tell('in'),
    {
      named: `change -> 'to' = 'true'`,
      holds: `proof.list(attributes -> 'tags') ?| array['vip', 'beta']`,
    },
  ),
  rule({ attribute: 'tags', when: { attribute: 'tags', op: 'has_none', value: ['vip'] } }, join(joined), {
    holds: `not proof.list(attributes -> 'tags') ? 'vip'`,
  }),
];

/** Of texts in several scripts, lists and dates. */
const onTexts = ({ joined }: Audiences): KnownRule[] => [
  rule({ attribute: 'city', to: 'เชียงใหม่' }, tell('ยินดีต้อนรับ 🎉'), { named: `change -> 'to' = '"เชียงใหม่"'` }),
  rule({ attribute: 'city', from: 'Oslo', when: { attribute: 'city', op: 'absent' } }, tell('where?'), {
    named: `change -> 'from' = '"Oslo"'`,
    holds: `coalesce(attributes -> 'city', 'null') = 'null'`,
  }),
  rule({ attribute: 'city', when: { attribute: 'city', op: 'ne', value: 'Oslo' } }, join(joined), {
    holds: `proof.words(attributes -> 'city') <> 'Oslo'`,
  }),
  rule({ attribute: 'city', when: { attribute: 'city', op: 'starts', value: 'bang', ignoreCase: true } }, tell('BKK'), {
    holds: `starts_with(lower(proof.words(attributes -> 'city')), 'bang')`,
    reentry: 'never',
  }),
  rule({ attribute: 'joined', when: { attribute: 'joined', op: 'in_last', value: { days: 30 } } }, tell('new'), {
    holds: `proof.day(attributes -> 'joined') between current_date - 30 and current_date`,
  }),
  rule(
    {
      attribute: 'joined',
      when: {
        any: [
          { attribute: 'joined', op: 'before', value: '2025-01-01' },
          { attribute: 'nick', op: 'contains', value: '😀' },
        ],
      },
    },
    join(joined),
    { holds: `proof.day(attributes -> 'joined') < '2025-01-01' or proof.words(attributes -> 'nick') like '%😀%'` },
  ),
  rule(
    { attribute: 'nick', when: { attribute: 'points', op: 'lt', value: 50 } },
    tell('hello {{ attribute.nick | "friend" }}'),
    {
      holds: `proof.number(attributes -> 'points') < 50`,
    },
  ),
];

/** Twenty that do something. */
export const liveRules = (audiences: Audiences): KnownRule[] => [
  ...onTier(audiences),
  ...onPoints(audiences),
  ...onTexts(audiences),
];

/** Judged and written down only. */
export const observing: readonly KnownRule[] = [
  rule({ attribute: 'tier', from: 'gold' }, tell('lost gold'), {
    named: `change -> 'from' = '"gold"'`,
    mode: 'observe',
  }),
  rule({ attribute: 'optIn' }, tell('asked'), { mode: 'observe', frequency: 'once' }),
];

/** Of another tenant, whose people bear the same ids. */
export const rulesOfOthers: readonly KnownRule[] = [
  rule({ attribute: 'tier' }, tell('other tier')),
  rule({ attribute: 'city', to: 'Oslo' }, tell('other Oslo'), {
    named: `change -> 'to' = '"Oslo"'`,
    frequency: 'once',
  }),
];

/** Would be set off by everybody, and must not be looked at. */
export const sleeping: readonly RuleDraft<ActionType>[] = [
  { ...rule({ attribute: 'tier' }, tell('draft')).draft, mode: 'draft' },
  { ...rule({ attribute: 'tier' }, tell('disabled')).draft, name: 'disabled', enabled: false },
];

import { randomUUID } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { moveProductTime } from '@dueline/db/testing';
import { recordCustomEvent, recordFriendEvent } from '@dueline/recipients';
import { createRule, type RuleDocument, readRule, setFrequencyCap } from '@dueline/trigger-rules';
import fc from 'fast-check';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { processDueActions } from '../src/process-due-actions.ts';
import { claimOf, context } from './due.ts';
import { announceAll, createTenant, decideDeps, message, setAttributes, userId } from './support.ts';

const CITIES = ['Edo', 'Osaka', 'Nara'];
const PEOPLE = 3;

const leaf = fc.oneof(
  fc.record({ attribute: fc.constant('city'), op: fc.constantFrom('eq', 'ne'), value: fc.constantFrom(...CITIES) }),
  fc.record({
    attribute: fc.constant('points'),
    op: fc.constantFrom('lt', 'gte'),
    value: fc.integer({ min: 0, max: 5 }),
  }),
  fc.record({ attribute: fc.constant('points'), op: fc.constantFrom('exists', 'absent') }),
);
const condition = fc.oneof(
  leaf,
  fc.record({ all: fc.array(leaf, { minLength: 1, maxLength: 3 }) }),
  fc.record({ any: fc.array(leaf, { minLength: 1, maxLength: 2 }) }),
  fc.record({ not: leaf }),
);
const conditions = fc.option(condition, { nil: undefined });

const sources = fc.oneof(
  fc.record({
    sourceType: fc.constant('attribute_changed'),
    sourceConfig: fc.record(
      {
        attribute: fc.constantFrom('city', 'points'),
        to: fc.constantFrom<(string | number | null)[]>('Edo', 'Nara', 3, null),
        conditions,
      },
      { requiredKeys: ['attribute'] },
    ),
  }),
  fc.record({
    sourceType: fc.constant('custom_event'),
    sourceConfig: fc.record(
      {
        name: fc.constantFrom('cart', 'purchase'),
        conditions: fc.oneof(
          condition,
          fc.record({
            event: fc.constant('/payload/amount'),
            op: fc.constant('gte'),
            value: fc.integer({ min: 0, max: 3 }),
          }),
        ),
      },
      { requiredKeys: ['name'] },
    ),
  }),
  fc.record({
    sourceType: fc.constant('friend_track_event_inserted'),
    sourceConfig: fc.record({ follow: fc.constantFrom('any', 'new', 'unblocked') }),
  }),
);

const text = fc.constantFrom('hello', 'in {{ attribute.city }}', 'in {{ attribute.city | "" }}');
const actions = fc.oneof(
  fc.record({
    actionType: fc.constant('send_message'),
    actionConfig: fc.record(
      {
        messages: text.map((words) => [{ type: 'text', text: words }]),
        delay: fc.constantFrom({ seconds: 0 }, { seconds: 3_600 }, { days: 1, at: '09:00' }),
      },
      { requiredKeys: ['messages'] },
    ),
  }),
  fc.record({
    actionType: fc.constant('set_attribute'),
    actionConfig: fc.record({ key: fc.constantFrom('seen', 'points'), value: fc.integer({ min: 0, max: 5 }) }),
  }),
);

/** How often a rule fires. */
const limits = fc.record({
  frequency: fc.constantFrom('every_time', 'once', 'once_per_hour', 'once_per_day', 'once_per_week'),
  cooldownSeconds: fc.constantFrom(0, 0, 1_800),
  reentry: fc.constantFrom('always', 'always', 'not_while_open', 'never'),
});

const documents = fc
  .tuple(sources, actions, limits)
  .map(([source, action, limit]) => readRule({ name: 'rule', ...source, ...action, ...limit }))
  .filter((read) => 'rule' in read)
  .map((read) => ('rule' in read ? read.rule : undefined))
  .filter((rule) => rule !== undefined);

const who = fc.integer({ min: 0, max: PEOPLE - 1 });
/** What happens next. */
const steps = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('set' as const),
      who,
      attributes: fc.record(
        { city: fc.constantFrom(...CITIES), points: fc.integer({ min: 0, max: 5 }) },
        { requiredKeys: [] },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('tell' as const),
      who,
      name: fc.constantFrom('cart', 'purchase'),
      amount: fc.integer({ min: 0, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('friend' as const),
      who,
      type: fc.constantFrom('follow' as const, 'unfollow' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('move' as const), seconds: fc.constantFrom(60, 1_900, 3_700, 90_000) }),
  },
);

export interface World {
  readonly rules: readonly RuleDocument[];
  readonly quietDrops: boolean;
  readonly cap: number | null;
  readonly steps: readonly (typeof steps extends fc.Arbitrary<infer Step> ? Step : never)[];
}

/** Rules with every limit, and what happens to three people. */
export const worlds: fc.Arbitrary<World> = fc.record({
  rules: fc.array(documents, { minLength: 1, maxLength: 4 }),
  quietDrops: fc.boolean(),
  cap: fc.constantFrom(null, null, 1, 2),
  steps: fc.array(steps, { minLength: 5, maxLength: 14 }),
});

/** Plays a world for an account of its own, each step decided by the worker before the next; gives the ids of its rules. */
export async function playWorld(
  db: Db,
  { rules, quietDrops, cap, steps }: World,
): Promise<{ tenant: Tenant; ruleIds: string[] }> {
  const tenant = await createTenant(db, PEOPLE);
  if (quietDrops)
    await db.$client.query(
      `update line_oa set quiet_from = '22:00', quiet_to = '07:00', quiet_policy = 'drop', quiet_zone = 'person' where id = $1`,
      [tenant.lineOaId],
    );
  await db.$client.query(`update line_user set timezone = 'America/New_York' where line_oa_id = $1 and user_id = $2`, [
    ...[tenant.lineOaId, userId(1)],
  ]);
  if (cap !== null) await setFrequencyCap(db, tenant, { maxMessages: cap, windowSeconds: 86_400 });
  const ruleIds: string[] = [];
  for (const [n, rule] of rules.entries()) ruleIds.push(await createRule(db, tenant, { ...rule, name: `rule ${n}` }));
  const blocked = new Set<number>();
  for (const step of steps) {
    await take(db, tenant, { step, isUnblocked: 'who' in step && blocked.has(step.who) });
    if (step.does === 'friend' && step.type === 'unfollow') blocked.add(step.who);
    await decideAll(db);
  }
  return { tenant, ruleIds };
}

/** Who blocked before says so when they follow again. */
async function take(
  db: Db,
  tenant: Tenant,
  { step, isUnblocked }: { step: World['steps'][number]; isUnblocked: boolean },
): Promise<void> {
  switch (step.does) {
    case 'set':
      return setAttributes(db, tenant, step.attributes, [step.who]);
    case 'tell': {
      const { name, amount, who } = step;
      await recordCustomEvent(db, tenant, {
        userId: userId(who),
        name,
        payload: { amount },
        idempotencyKey: randomUUID(),
      });
      return;
    }
    case 'friend': {
      const { type, who } = step;
      await recordFriendEvent(db, tenant, { userId: userId(who), type, isUnblocked, webhookEventId: randomUUID() });
      return;
    }
    case 'move':
      return moveProductTime(db, step.seconds);
  }
}

/** Everything that is told, and what follows from that, each behind what is due by then. */
export async function decideAll(db: Db): Promise<void> {
  const deps = decideDeps(db);
  const settle = processDueActions(deps, claimOf('inline'));
  await settle();
  for (;;) {
    const tickets = await announceAll(db);
    if (tickets.length === 0) break;
    for (const ticket of tickets) {
      await handleTriggerEvents(deps, ticket.topic)(message(ticket, { tickets: [ticket] }), context);
      await settle();
    }
  }
  if (deps.errors.length > 0) throw new Error(`a decision failed: ${JSON.stringify(deps.errors)}`);
}

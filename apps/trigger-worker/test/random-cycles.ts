import { randomUUID } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { moveProductTime } from '@dueline/db/testing';
import { addAudienceMembers, createAudience, recordFriendEvent } from '@dueline/recipients';
import { announceCycles, countCycles, openCycles, planSchedules } from '@dueline/scheduled-cycles';
import { createRule, type RuleDocument, readRule, setFrequencyCap } from '@dueline/trigger-rules';
import fc from 'fast-check';
import { processDueActions } from '../src/process-due-actions.ts';
import { runScheduledCycles } from '../src/run-scheduled-cycle.ts';
import { claimOf, context } from './due.ts';
import { decideAll } from './random-world.ts';
import { createTenant, decideDeps, message, setAttributes, userId } from './support.ts';

const PEOPLE = 4;
const CITIES = ['Edo', 'Osaka'];
/** Windows of a cap: one that no two moments of a world are apart, and such as lie between two cycles. */
const CAP_WINDOWS = [80_000, 86_400, 21_600];

const leaf = fc.oneof(
  fc.record({ attribute: fc.constant('city'), op: fc.constantFrom('eq', 'ne'), value: fc.constantFrom(...CITIES) }),
  fc.record({
    attribute: fc.constant('points'),
    op: fc.constantFrom('lt', 'gte'),
    value: fc.integer({ min: 0, max: 3 }),
  }),
  fc.record({ not: fc.record({ attribute: fc.constant('city'), op: fc.constant('exists') }) }),
);
const conditions = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 2, arbitrary: leaf },
  { weight: 1, arbitrary: fc.record({ any: fc.array(leaf, { minLength: 1, maxLength: 2 }) }) },
);
const onDate = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.record({
      attribute: fc.constant('born'),
      daysBefore: fc.constantFrom(0, 1),
      yearly: fc.boolean(),
      leapDay: fc.constantFrom('feb28', 'mar1'),
    }),
  },
);

/** The n-th rule has minutes of its own, so that no two rules act at the same moment. */
const sources = fc.record({
  cron: fc.constantFrom(
    (m: number) => `${m} */6 * * *`,
    (m: number) => `${m} 9 * * *`,
    (m: number) => `${m} 22,7 * * *`,
  ),
  timezone: fc.constantFrom(undefined, undefined, 'Europe/Berlin'),
  hasAudience: fc.constantFrom(false, false, true),
  onDate,
  conditions,
});
const toDate = (to: object) => (whenPast: string) => (m: number) => ({
  ...{ mode: 'relativeToDate', to, offsetDays: 0, at: `12:0${m / 10}`, whenPast },
});
const delays = fc.oneof(
  fc.constant(() => undefined),
  fc.constantFrom(
    () => ({ seconds: 7_200 }),
    (m: number) => ({ days: 1, at: `21:0${m / 10}` }),
    () => ({ mode: 'waitForTracking', expiresSeconds: 3_600 }),
  ),
  fc.constantFrom('fire', 'skip', 'fail').map(toDate({ attribute: 'visit' })),
);
const text = fc.constantFrom('hello', '{{ attribute.city | "" }}', 'in {{ attribute.city | "town" }}');
const actions = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      actionType: fc.constant('send_message'),
      messages: text.map((words) => [{ type: 'text', text: words }]),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      actionType: fc.constant('set_attribute'),
      key: fc.constant('points'),
      value: fc.integer({ min: 0, max: 3 }),
    }),
  },
);
const limits = fc.record({
  frequency: fc.constantFrom(
    'every_time',
    'every_time',
    'every_time',
    'once',
    'once_per_hour',
    'once_per_day',
    'once_per_week',
  ),
  cooldownSeconds: fc.constantFrom(0, 0, 0, 20_000),
  reentry: fc.constantFrom('always', 'always', 'always', 'never'),
});

const who = fc.integer({ min: 0, max: PEOPLE - 1 });
const days = fc.integer({ min: -1, max: 3 });
const steps = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('set' as const),
      who,
      attributes: fc.record(
        { city: fc.constantFrom(...CITIES), points: fc.integer({ min: 0, max: 3 }) },
        { requiredKeys: [] },
      ),
      bornIn: fc.option(days, { nil: undefined }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('friend' as const),
      who,
      type: fc.constantFrom('follow' as const, 'unfollow' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('move' as const), hours: fc.constantFrom(1, 4, 14, 25) }) },
);

export const cycleWorlds = fc.record({
  rules: fc.array(fc.record({ source: sources, action: actions, delay: delays, limits }), {
    minLength: 1,
    maxLength: 3,
  }),
  quiet: fc.constantFrom(undefined, 'drop', 'shift'),
  cap: fc.constantFrom(null, 1, 2),
  capSeconds: fc.constantFrom(...CAP_WINDOWS),
  visits: fc.array(fc.option(days), { minLength: PEOPLE, maxLength: PEOPLE }),
  steps: fc.array(steps, { minLength: 4, maxLength: 8 }),
});
export type CycleWorld = typeof cycleWorlds extends fc.Arbitrary<infer World> ? World : never;

function documentOf(
  { source, action, delay, limits }: CycleWorld['rules'][number],
  n: number,
  audienceId: string,
): RuleDocument {
  const { cron, hasAudience, ...config } = source;
  const { actionType, ...actionConfig } = action;
  const given = (of: object) => JSON.parse(JSON.stringify(of)) as object; // without what is not given
  const read = readRule({
    ...{ name: `rule ${n}`, sourceType: 'scheduled_time', actionType, ...limits },
    sourceConfig: given({ ...config, cron: cron(10 * n), overlap: 'allow', ...(hasAudience && { audienceId }) }),
    actionConfig: given({ ...actionConfig, delay: delay(10 * n) }),
  });
  if ('problem' in read) throw new Error(read.problem);
  return read.rule;
}

/** What was played: rules with their ids, from when on, and until when cycles were opened. */
export interface PlayedCycles {
  readonly tenant: Tenant;
  readonly rules: readonly { readonly id: string; readonly document: RuleDocument }[];
  readonly from: string;
  readonly to: string;
}

/** Plays a world for an account of its own: whatever is due happens when it is due, and last all that still waits. */
export async function playCycles(db: Db, world: CycleWorld): Promise<PlayedCycles> {
  // seven and a half minutes past an hour: no rule acts then, and none for long before and after
  const begin = Math.ceil((await nowOf(db)) / 3_600_000) * 3_600_000 + 450_000;
  await moveTo(db, begin);
  const tenant = await settle(db, world);
  const rules = await createRules(db, tenant, world);
  await planSchedules(db, { onProblem: (_tx, { problem }) => Promise.reject(new Error(problem)) });
  const blocked = new Set<number>();
  let at = begin;
  for (const step of [...world.steps, { does: 'move' as const, hours: 25 }]) {
    if (step.does === 'move') {
      at += step.hours * 3_600_000;
      await advance(db, at, { opens: true });
    } else if (step.does === 'set') {
      const born = step.bornIn === undefined ? {} : { born: dayOf(at, step.bornIn) };
      await setAttributes(db, tenant, { ...step.attributes, ...born }, [step.who]);
    } else {
      const { type, who } = step;
      await recordFriendEvent(db, tenant, {
        userId: userId(who),
        type,
        isUnblocked: blocked.has(who),
        webhookEventId: randomUUID(),
      });
      if (type === 'unfollow') blocked.add(who);
    }
    await decideAll(db);
  }
  await advance(db, at + 10 * 86_400_000, { opens: false });
  return { tenant, rules, from: new Date(begin).toISOString(), to: new Date(at).toISOString() };
}

async function settle(db: Db, { quiet, cap, capSeconds, visits }: CycleWorld): Promise<Tenant> {
  const tenant = await createTenant(db, PEOPLE);
  // what waits for the end of quiet hours is decided at their end, and there all rules meet
  const isCapped = cap !== null && quiet !== 'shift';
  if (isCapped) await setFrequencyCap(db, tenant, { maxMessages: cap, windowSeconds: capSeconds });
  await db.$client.query(
    `update line_oa set spread_minutes = 0, quiet_from = $2::text, quiet_to = case when $2::text is not null then '06:30' end,
            quiet_policy = coalesce($3, quiet_policy), quiet_zone = 'person' where id = $1`,
    [tenant.lineOaId, quiet === undefined ? null : '21:30', quiet ?? null],
  );
  await db.$client.query(`update line_user set timezone = 'America/New_York' where line_oa_id = $1 and user_id = $2`, [
    ...[tenant.lineOaId, userId(1)],
  ]);
  const now = await nowOf(db);
  for (const [n, visit] of visits.entries())
    if (visit !== null) await setAttributes(db, tenant, { visit: dayOf(now, visit) }, [n]);
  await decideAll(db);
  return tenant;
}

async function createRules(db: Db, tenant: Tenant, { rules }: CycleWorld): Promise<PlayedCycles['rules']> {
  const audienceId = await createAudience(db, tenant, { name: 'some' });
  await addAudienceMembers(db, tenant, { audienceId, userIds: [userId(0), userId(1)] });
  const created = [];
  for (const [n, rule] of rules.entries()) {
    const document = documentOf(rule, n, audienceId);
    created.push({ id: await createRule(db, tenant, { ...document, mode: 'live' }), document });
  }
  return created;
}

const dayOf = (millis: number, days: number): string =>
  Temporal.Instant.fromEpochMilliseconds(millis)
    .toZonedDateTimeISO('Asia/Tokyo')
    .toPlainDate()
    .add({ days })
    .toString();

async function nowOf(db: Db): Promise<number> {
  const { rows } = await db.$client.query<{ now: string }>('select extract(epoch from app_now()) * 1000 as now');
  return Math.floor(Number(rows[0]?.now));
}

const moveTo = async (db: Db, millis: number): Promise<void> =>
  moveProductTime(db, Math.max(0, (millis - (await nowOf(db))) / 1_000));

/** Goes from each moment at which something is due to the next, until an instant. */
async function advance(db: Db, until: number, { opens }: { opens: boolean }): Promise<void> {
  const due = `select extract(epoch from min(at)) * 1000 as at from (
    select execute_at as at from scheduled_action where status = 'pending' ${opens ? 'union all select next_run_at from cycle_schedule' : ''}) as due`;
  for (;;) {
    const { rows } = await db.$client.query<{ at: string | null }>(due);
    const next = rows[0]?.at;
    if (next === null || next === undefined || Number(next) > until) break;
    await moveTo(db, Number(next) + 1);
    await decideDue(db, opens);
  }
  await moveTo(db, until);
}

async function decideDue(db: Db, opens: boolean): Promise<void> {
  const deps = decideDeps(db);
  if (opens) await openCycles(db, { limit: 10 });
  const tickets = await announceCycles(db, { limit: 10, againAfterSeconds: 60 });
  for (const { organizationId, lineOaId, ...ticket } of tickets)
    await runScheduledCycles(deps)(message({ organizationId, lineOaId }, { tickets: [ticket] }), context);
  const decide = processDueActions(deps, claimOf('inline'));
  while (await decide());
  await countCycles(db);
  if (deps.errors.length > 0) throw new Error(`a decision failed: ${JSON.stringify(deps.errors)}`);
}

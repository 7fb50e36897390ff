import { openAttention } from '@dueline/attention';
import type { Delay, SourceType, Tenant, Ticket, Tickets } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import { discarded, type Handler } from '@dueline/mq';
import { type ActionToSchedule, haveDates, insertFailed, scheduleMany } from '@dueline/scheduled-actions';
import {
  type Cycle,
  cycleDedupKey,
  endCycle,
  PAGE_SIZE,
  type PageOptions,
  pageSizeOf,
  readPage,
  releaseCycle,
  takeCycle,
} from '@dueline/scheduled-cycles';
import {
  applyLimits,
  findScheduledRule,
  type LogEntry,
  planAction,
  recordDecisions,
  recordScheduled,
  ruleFields,
  type ScheduledRule,
} from '@dueline/trigger-rules';
import { attentionItems } from './attention-items.ts';
import type { DecideDeps } from './deps.ts';
import { type Reading, readOrSplit } from './read-or-split.ts';

/** How long one message reads a cycle before it gives it back, so that cycles of other accounts have their turn. */
const TURN_MS = 20_000;

/**
 * Consumer of scheduled_trigger_fire: takes a cycle over and reads its people, page by page, each page one transaction that gives every
 * person of it an action which is due now, or after the rule's delay. A kill costs the page in hand; whoever takes the cycle next goes on
 * behind the last one. A repeated or stale ticket takes nothing.
 */
export const runScheduledCycles =
  (deps: DecideDeps): Handler<Tickets> =>
  async ({ tenant, data }, { signal }) => {
    let people = 0;
    let taken = 0;
    for (const ticket of data.tickets) {
      const cycle = await take(deps, tenant, ticket);
      if (cycle === undefined) continue;
      taken += 1;
      deps.reach?.('read_cycle.taken');
      people += await read(deps, cycle, signal);
    }
    if (taken > 0) deps.reach?.('read_cycle.handled');
    return taken === 0 ? discarded('no ticket held a cycle') : { outcome: 'done', detail: { cycles: taken, people } };
  };

const take = ({ db, claimedBy, leaseSeconds }: DecideDeps, tenant: Tenant, ticket: Ticket) =>
  takeCycle(db, tenant, { ticket, claimedBy, leaseSeconds });

async function read(deps: DecideDeps, cycle: Cycle, signal: AbortSignal): Promise<number> {
  const until = performance.now() + TURN_MS;
  const reading = readingOf(deps, cycle, signal);
  for (let people = 0; ; ) {
    const page = await readOrSplit(reading);
    if (page.result === 'lost') return people;
    people += page.people;
    if (page.isLast) return people;
    deps.reach?.('read_cycle.committed');
    if (signal.aborted || performance.now() > until) {
      await releaseCycle(deps.db, cycle);
      return people;
    }
  }
}

/** How a cycle is read. Each page, and each person who is given up, is a transaction of its own. */
function readingOf(deps: DecideDeps, cycle: Cycle, signal: AbortSignal): Reading {
  const whole = { size: PAGE_SIZE };
  const page = (how: Omit<PageOptions, 'cycle' | 'config' | 'leaseSeconds' | 'enqueue'>, enqueueWith: EnqueueWith) =>
    inTransaction(deps.db, async (tx) => {
      const found = await findScheduledRule(tx, cycle, cycle.triggerRuleId);
      if (found.kind === 'gone') {
        await endCycle(tx, { executionId: cycle.id, reason: found.reason });
        return { result: 'lost' as const };
      }
      const { rule } = found;
      whole.size = pageSizeOf(rule.sourceConfig);
      const enqueue = (_tx: Tx, userIds: readonly string[]) => enqueueWith(tx, { rule, cycle, userIds });
      const { leaseSeconds, reach } = deps;
      const read = await readPage(tx, { ...how, cycle, config: rule.sourceConfig, leaseSeconds, enqueue });
      if (read.result === 'read') reach?.('read_cycle.reading');
      return read;
    });
  return {
    ...{ db: deps.db, log: deps.log, cycle, leaseSeconds: deps.leaseSeconds, whole },
    isStopping: () => signal.aborted,
    page: (limit) => page({ limit }, enqueuePeople),
    giveUpPerson: (error) => page({ limit: 1, givesUp: true }, (tx, people) => failPeople(tx, people, error)),
  };
}

type EnqueueWith = (tx: Tx, people: PeopleOfPage) => Promise<{ suppressed: number }>;

const AT_ONCE: Delay = { mode: 'normal', seconds: 0, reEvaluateConditions: false };
const TRIGGER: SourceType = 'scheduled_time';

interface PeopleOfPage {
  readonly rule: ScheduledRule;
  readonly cycle: Cycle;
  readonly userIds: readonly string[];
}

/** An action for each person whom the rule's limits let pass; what does not happen is in the history. */
async function enqueuePeople(tx: Tx, { rule, cycle, userIds: all }: PeopleOfPage): Promise<{ suppressed: number }> {
  const dates = await haveDates(tx, all.map(actionOf(rule, cycle))); // asked before anybody's slot is taken
  const userIds = all.filter((_, at) => dates[at]);
  const limits = await applyLimits(
    tx,
    userIds.map((userId) => ({ rule, userId, at: cycle.scheduledAt, sends: false })), // caps are asked when the action is decided
  );
  const passed = userIds.filter((_, at) => limits[at] === undefined);
  const acts = rule.mode === 'live' ? passed : [];
  const scheduled = await scheduleMany(tx, acts.map(actionOf(rule, cycle)), recordScheduled(TRIGGER));
  const undated = [
    ...all.filter((_, at) => !dates[at]),
    ...acts.filter((_, at) => scheduled[at]?.result === 'no_date'),
  ];
  await recordDecisions(tx, [
    ...userIds.flatMap((userId, at) => {
      const limit = limits[at];
      return limit === undefined ? [] : [entryOf(rule, userId, { decision: 'suppressed', reasonCode: limit })];
    }),
    ...(rule.mode === 'live'
      ? []
      : passed.map((userId) => entryOf(rule, userId, { decision: 'observed', reasonCode: 'matched' }))),
    ...undated.map((userId) => entryOf(rule, userId, { decision: 'suppressed', reasonCode: 'no_date' })),
  ]);
  return { suppressed: userIds.length - acts.length + undated.length };
}

/** A failed action for each person, for somebody to see and to retry. */
async function failPeople(
  tx: Tx,
  { rule, cycle, userIds }: PeopleOfPage,
  error: string,
): Promise<{ suppressed: number }> {
  const actions = userIds.map(actionOf(rule, cycle));
  for (const action of actions) {
    const id = await insertFailed(tx, action, error);
    if (id === undefined) continue;
    const failed = { decision: 'failed', reasonCode: 'decision_failed' } as const;
    const entry = { ...entryOf(rule, action.userId, failed), errorMessage: error, scheduledActionId: id };
    await recordDecisions(tx, [entry]);
    await openAttention(tx, attentionItems([entry]));
  }
  return { suppressed: 0 };
}

const actionOf =
  (rule: ScheduledRule, cycle: Cycle) =>
  (userId: string): ActionToSchedule => {
    const plan = planAction(rule);
    return {
      ...{ organizationId: cycle.organizationId, lineOaId: cycle.lineOaId, userId },
      ...{ request: plan.request, delay: plan.kind === 'later' ? plan.delay : AT_ONCE },
      ...{ from: cycle.scheduledAt, isBulk: true },
      // whoever it is not for is sorted out when the action is decided, by what is true then
      sourceConfig: rule.sourceConfig.conditions === undefined ? null : rule.sourceConfig,
      ...{ triggerRuleId: rule.id, ruleVersion: rule.version, eventId: null, rootId: null },
      ...{ dedupKey: cycleDedupKey(cycle.id, userId), openKey: null, traceparent: undefined },
    };
  };

const entryOf = (rule: ScheduledRule, userId: string, what: Pick<LogEntry, 'decision' | 'reasonCode'>): LogEntry => ({
  ...{ organizationId: rule.organizationId, lineOaId: rule.lineOaId, userId, eventId: null, rootId: null },
  ...{ triggerOn: TRIGGER, ...ruleFields(rule), ...what },
});

import type { Delay, SourceType, Tenant, Ticket, Tickets } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import { discarded, type Handler } from '@dueline/mq';
import { type ActionToSchedule, haveDates, scheduleMany } from '@dueline/scheduled-actions';
import {
  type Cycle,
  cycleDedupKey,
  endCycle,
  type PageResult,
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
import type { DecideDeps } from './deps.ts';

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
  for (let people = 0; ; ) {
    const page = await inTransaction(deps.db, (tx) => readNext(deps, cycle, tx));
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

async function readNext({ leaseSeconds, reach }: DecideDeps, cycle: Cycle, tx: Tx): Promise<PageResult> {
  const found = await findScheduledRule(tx, cycle, cycle.triggerRuleId);
  if (found.kind === 'gone') {
    await endCycle(tx, { executionId: cycle.id, reason: found.reason });
    return { result: 'lost' };
  }
  const { rule } = found;
  const enqueue = (_tx: Tx, userIds: readonly string[]) => enqueuePeople(tx, { rule, cycle, userIds });
  const page = await readPage(tx, { cycle, config: rule.sourceConfig, leaseSeconds, enqueue });
  if (page.result === 'read') reach?.('read_cycle.reading');
  return page;
}

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

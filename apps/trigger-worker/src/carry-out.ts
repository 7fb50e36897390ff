import { type Alongside, lockUsers, type Tx } from '@dueline/db';
import type { CreatedDelivery } from '@dueline/deliveries';
import { type ActionToSchedule, type Scheduled, scheduleMany } from '@dueline/scheduled-actions';
import {
  type Candidate,
  entryOf,
  isPerformedHere,
  type LogEntry,
  recordScheduled,
  ruleFields,
  sourceToRecheck,
} from '@dueline/trigger-rules';
import { type ActionToPerform, performActions } from './perform.ts';
import type { Prepared } from './prepare.ts';
import { traceDecision } from './trace.ts';

export interface CarriedOut {
  readonly deliveries: readonly CreatedDelivery[];
  /** History that was written with the rows that wait. */
  readonly recorded: readonly LogEntry[];
  /** History that is still to be written. */
  readonly entries: readonly LogEntry[];
}

/** What a firing stands for, for ever: the same event and rule never act twice, whoever repeats them. */
const logicalId = ({ event, rule }: Candidate): string => `${event.eventId}:${rule.id}`;
const dedupKey = (candidate: Candidate): string => `ev:${logicalId(candidate)}`;
/** Of a rule that nobody enters twice at a time. */
const openKey = ({ rule, userId }: Candidate): string | null =>
  rule.reentry === 'not_while_open' ? `${rule.id}:${userId}` : null;

/** Makes of each firing, all of one topic, a delivery that is due now, a change of ours that is done now, or a row that waits; and its history. */
export async function carryOut(tx: Tx, firings: readonly Prepared[]): Promise<CarriedOut> {
  const [first] = firings;
  if (first === undefined) return { deliveries: [], recorded: [], entries: [] };
  const { now, later } = await planAll(firings);
  const results = await scheduleAll(tx, later, recordScheduled(first.event.topic, causesOf(firings)));
  const scheduled = new Map(later.map((action, n) => [action.dedupKey, results[n]]));
  const deliveries = await performActions(tx, now);
  const deliveryIds = new Map(deliveries.map((delivery) => [delivery.logicalId, delivery.id]));
  const doneHere = new Set(now.flatMap(({ request, logicalId }) => (isPerformedHere(request) ? [logicalId] : [])));
  const made = { scheduled, deliveryIds, doneHere };
  const entries = firings.map((firing) => entryFor(firing, made));
  const { recorded = [], others = [] } = Object.groupBy(entries, (entry) =>
    isOfNewRow(entry) ? 'recorded' : 'others',
  );
  return { deliveries, recorded, entries: others };
}

const causesOf = (firings: readonly Prepared[]): Record<string, string> =>
  Object.fromEntries(
    firings.flatMap(({ event: { eventId, causeId } }) => (causeId === null ? [] : [[eventId, causeId] as const])),
  );

async function planAll(firings: readonly Prepared[]) {
  const now: ActionToPerform[] = [];
  const later: ActionToSchedule[] = [];
  for (const firing of firings) {
    const traceparent = await traceDecision('decide rule', firing.event.traceparent);
    const { plan, words } = firing;
    const base = { ...baseOf(firing), traceparent, request: plan.request };
    if (plan.kind === 'now') {
      const what = { kind: 'event', logicalId: logicalId(firing), epoch: 1, scheduledActionId: null } as const;
      now.push({ ...base, ...what, words });
    } else {
      const { delay } = plan;
      const sourceConfig = plan.sourceConfig && sourceToRecheck(plan.sourceConfig, firing.facts);
      const keys = { dedupKey: dedupKey(firing), openKey: openKey(firing) };
      const { bulk: isBulk } = firing.event;
      later.push({ ...base, ...keys, delay, sourceConfig, isBulk, ruleVersion: firing.rule.version });
    }
  }
  return { now, later };
}

/** Most actions of one call that meets the facts which are older than their rows. */
const MOST_AT_ONCE = 500;

/** However many there are: all locks first, then the rows. */
async function scheduleAll(tx: Tx, actions: readonly ActionToSchedule[], alongside: Alongside): Promise<Scheduled[]> {
  if (actions.length > MOST_AT_ONCE) await lockUsers(tx, actions);
  const results: Scheduled[] = [];
  for (let at = 0; at < actions.length; at += MOST_AT_ONCE)
    results.push(...(await scheduleMany(tx, actions.slice(at, at + MOST_AT_ONCE), alongside)));
  return results;
}

function baseOf({ event, rule }: Candidate) {
  const { organizationId, lineOaId, userId, eventId, rootId } = event;
  return { organizationId, lineOaId, userId, eventId, rootId, triggerRuleId: rule.id };
}

/** What became of the firings, by what they stand for. */
interface Made {
  readonly scheduled: ReadonlyMap<string, Scheduled | undefined>;
  readonly deliveryIds: ReadonlyMap<string, string>;
  readonly doneHere: ReadonlySet<string>;
}

function entryFor(firing: Candidate, made: Made): LogEntry {
  const base = { ...entryOf(firing.event), ...ruleFields(firing.rule) };
  if (made.doneHere.has(logicalId(firing))) return { ...base, decision: 'fired', reasonCode: 'matched' };
  const deliveryId = made.deliveryIds.get(logicalId(firing));
  if (deliveryId !== undefined) return { ...base, decision: 'fired', reasonCode: 'matched', deliveryId };
  const scheduled = made.scheduled.get(dedupKey(firing));
  if (scheduled === undefined) return { ...base, decision: 'suppressed', reasonCode: 'already_done' };
  return { ...base, ...historyOf(scheduled) };
}

const isOfNewRow = ({ decision, scheduledActionId }: LogEntry): boolean =>
  scheduledActionId !== undefined && decision !== 'suppressed';

const HISTORY_OF = {
  skipped: { decision: 'cancelled', reasonCode: 'date_past' },
  failed: { decision: 'failed', reasonCode: 'date_past' },
  already_scheduled: { decision: 'suppressed', reasonCode: 'already_scheduled' },
  already_pending: { decision: 'suppressed', reasonCode: 'already_pending' },
} as const;

/** What history says of an action that was to wait. */
function historyOf(scheduled: Scheduled): Pick<LogEntry, 'decision' | 'reasonCode' | 'scheduledActionId'> {
  if (scheduled.result === 'no_date') return { decision: 'suppressed', reasonCode: 'no_date' };
  const scheduledActionId = scheduled.id;
  if (scheduled.result !== 'made') return { ...HISTORY_OF[scheduled.result], scheduledActionId };
  return { decision: 'scheduled', reasonCode: scheduled.isPast ? 'date_past' : 'matched', scheduledActionId };
}

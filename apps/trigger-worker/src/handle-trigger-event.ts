import type { EventTopic, Tenant, Ticket, Tickets } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import { failEvent, type OutboxEvent, takeEvents } from '@dueline/db/changes';
import { discarded, type Handler } from '@dueline/mq';
import { getLineUsers, lineUserKey } from '@dueline/recipients';
import { wakeDue } from '@dueline/scheduled-actions';
import { type LogEntry, liveRules, passGate, recordDecisions } from '@dueline/trigger-rules';
import { carryOut } from './carry-out.ts';
import type { DecideDeps } from './deps.ts';
import { type Candidate, entryOf, evaluateEvent, ruleFields } from './evaluate-event.ts';
import { followPeople } from './follow-people.ts';
import { lockUsersOf, mayBeAwaited, meetWaits } from './meet-waits.ts';
import { moveAnchors } from './move-anchors.ts';
import { decideOrSplit } from './split.ts';

/**
 * Consumer of an event queue: which waits does each event end, which rules of the account does it set off, and what follows.
 * One transaction takes the events out of the outbox and writes every consequence, so a kill repeats the whole message and a
 * repeated or stale ticket finds nothing. Acked after the commit.
 */
export const handleTriggerEvents =
  (deps: DecideDeps, topic: EventTopic): Handler<Tickets> =>
  async ({ tenant, data }) => {
    let taken = 0;
    await decideOrSplit(
      data.tickets,
      async (tickets) => {
        taken += await decideEvents(deps, { tenant, topic, tickets });
      },
      (ticket, error) => recordFailure(deps, ticket, error),
    );
    if (taken > 0) deps.reach?.('decide_event.handled');
    return taken === 0 ? discarded('no ticket held an event') : { outcome: 'done', detail: { events: taken } };
  };

async function decideEvents(
  deps: DecideDeps,
  message: { tenant: Tenant; topic: EventTopic; tickets: readonly Ticket[] },
): Promise<number> {
  const awaited = await mayBeAwaited(deps.db, message.tenant, message.topic);
  const { taken, entries, deliveries } = await inTransaction(deps.db, async (tx) => {
    if (awaited) await lockUsersOf(tx, message.tenant, message.tickets);
    const events = await takeEvents(tx, message.tenant, message.tickets);
    if (events.length === 0) return { taken: 0, entries: [], deliveries: [] };
    await followPeople(tx, message.tenant, events);
    const met = awaited ? [...(await meetWaits(tx, events)), ...(await moveAnchors(tx, events))] : [];
    if (met.some(({ decision }) => decision === 'unlocked' || decision === 'scheduled')) await wakeDue(tx);
    const { candidates, rejected } = await evaluateEvents(tx, message.tenant, events);
    const { firings, limited } = await applyLimits(tx, candidates);
    const carried = await carryOut(tx, message.tenant, firings);
    const decided: LogEntry[] = [...met, ...rejected, ...limited, ...carried.entries];
    await recordDecisions(tx, decided);
    deps.reach?.('decide_event.deciding');
    return { taken: events.length, entries: decided, deliveries: carried.deliveries };
  });
  if (taken > 0) deps.reach?.('decide_event.committed');
  for (const entry of entries) deps.onDecided('event', entry.decision);
  await deps.handOver(deliveries); // after the commit: a crash here costs one sweep, not a message
  return taken;
}

/** Rules have attribute changes as their source so far. */
async function evaluateEvents(
  tx: Tx,
  tenant: Tenant,
  events: readonly OutboxEvent[],
): Promise<{ candidates: Candidate[]; rejected: LogEntry[] }> {
  const changes = events.filter((event) => event.topic === 'attribute_changed');
  if (changes.length === 0) return { candidates: [], rejected: [] };
  const rules = await liveRules(tx, tenant, 'attribute_changed');
  if (rules.length === 0) return { candidates: [], rejected: [] };
  const users = await getLineUsers(tx, changes);
  const evaluated = changes.map((event) => evaluateEvent(event, rules, users.get(lineUserKey(event))));
  return {
    candidates: evaluated.flatMap(({ candidates }) => candidates),
    rejected: evaluated.flatMap(({ rejected }) => rejected),
  };
}

async function applyLimits(
  tx: Tx,
  candidates: readonly Candidate[],
): Promise<{ firings: Candidate[]; limited: LogEntry[] }> {
  const passes = await passGate(tx, candidates);
  const firings = candidates.filter((_, at) => passes[at]);
  const limited = candidates
    .filter((_, at) => !passes[at])
    .map(
      ({ event, rule }): LogEntry => ({
        ...entryOf(event),
        ...ruleFields(rule),
        decision: 'suppressed',
        reasonCode: 'frequency',
      }),
    );
  return { firings, limited };
}

async function recordFailure(deps: DecideDeps, ticket: Ticket, error: unknown): Promise<void> {
  deps.log.error({ err: error, eventRow: ticket.id }, 'an event could not be decided; it is tried again later');
  deps.onDecided('event', 'failed');
  await failEvent(deps.db, ticket);
}

import { openAttention } from '@dueline/attention';
import type { EventTopic, Tenant, Ticket, Tickets } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import {
  failEvent,
  giveUpEvent,
  type HeldEvent,
  holdEvents,
  MAX_EVENT_RESCUES,
  type OutboxEvent,
  suspectEvents,
  takeEventAlone,
  takeEvents,
} from '@dueline/db/changes';
import type { CreatedDelivery } from '@dueline/deliveries';
import { discarded, type Handler } from '@dueline/mq';
import { getLineUsers, lineUserKey } from '@dueline/recipients';
import { safeErrorText } from '@dueline/runtime';
import { lockToldActions, wakeDue } from '@dueline/scheduled-actions';
import {
  countUnmatched,
  type Evaluated,
  evaluateEvent,
  type LogEntry,
  type ReasonCode,
  recordDecisions,
  type TriggerRule,
} from '@dueline/trigger-rules';
import { attentionItems } from './attention-items.ts';
import { carryOut } from './carry-out.ts';
import { chooseFirings } from './choose-firings.ts';
import type { DecideDeps } from './deps.ts';
import { loadEventFacts, rulesFor } from './event-facts.ts';
import { followPeople } from './follow-people.ts';
import { decideInHand, type Take } from './in-hand.ts';
import { factsOf, lockUsersOf, mayBeAwaited, meetWaits } from './meet-waits.ts';
import { anchorsOf, moveAnchors } from './move-anchors.ts';
import { notReplayed, withoutRepeats } from './repeats.ts';
import { decideOrSplit } from './split.ts';

/** Which events one transaction decides. */
interface EventBatch {
  readonly tenant: Tenant;
  readonly topic: EventTopic;
  readonly tickets: readonly Ticket[];
  /** Whether something may wait for such events: then their people are locked before anything else. */
  readonly awaited: boolean;
}

/** What one transaction made of events. */
interface DecidedEvents {
  readonly taken: number;
  readonly entries: readonly LogEntry[];
  readonly deliveries: readonly CreatedDelivery[];
  /** Events that are still announced, because they must be decided alone. */
  readonly setAside: readonly Ticket[];
}

const NOTHING: DecidedEvents = { taken: 0, entries: [], deliveries: [], setAside: [] };

/**
 * Consumer of an event queue: which waits does each event end, which rules of the account does it set off, and what follows.
 * One transaction takes the events out of the outbox and writes every consequence, so a kill repeats the whole message, whose
 * events are then decided one by one, and a repeated or stale ticket finds nothing. Acked after the commit.
 */
export const handleTriggerEvents =
  (deps: DecideDeps, topic: EventTopic): Handler<Tickets> =>
  async ({ tenant, data, deliveryCount }) => {
    await deps.ready();
    const ids = data.tickets.map(({ id }) => id);
    if (deliveryCount > 0) await deps.gate.alone(() => suspectEvents(deps.db, ids));
    let taken = 0;
    await decideOrSplit(data.tickets, {
      gate: deps.gate,
      alone: deliveryCount > 0,
      decide: async (tickets, { alone }) => {
        const awaited = await mayBeAwaited(deps.db, tenant, topic);
        const decided = await decideEvents(deps, { tenant, topic, tickets, awaited }, alone);
        taken += decided.taken;
        return decided.setAside;
      },
      onFailure: (ticket, error) => recordFailure(deps, { tenant, ticket }, error),
    });
    if (taken > 0) deps.reach?.('decide_event.handled');
    return taken === 0 ? discarded('no ticket held an event') : { outcome: 'done', detail: { events: taken } };
  };

async function decideEvents(deps: DecideDeps, message: EventBatch, alone: boolean): Promise<DecidedEvents> {
  const decided = await (alone
    ? decideInHand(deps, 'event', (tx, take) => decideAlone(deps, message, { tx, take }))
    : inTransaction(deps.db, (tx) => decideTogether(deps, message, tx)));
  if (decided.taken > 0) deps.reach?.('decide_event.committed');
  for (const entry of decided.entries) deps.onDecided('event', entry.decision);
  await deps.handOver(decided.deliveries); // after the commit: a crash here costs one sweep, not a message
  return decided;
}

async function decideTogether(deps: DecideDeps, message: EventBatch, tx: Tx): Promise<DecidedEvents> {
  if (message.awaited) await lockUsersOf(tx, message.tenant, message.tickets);
  const events = await takeEvents(tx, message.tenant, message.tickets);
  const setAside = events.length < message.tickets.length ? await holdEvents(tx, message.tenant, message.tickets) : [];
  return { ...(await decideTaken(deps, message, { tx, events })), setAside };
}

/** One event, with its name in hand; given up when it kills whoever decides it, and left to another process that has it in hand. */
async function decideAlone(
  deps: DecideDeps,
  message: EventBatch,
  { tx, take }: { tx: Tx; take: Take },
): Promise<DecidedEvents> {
  if (message.awaited) await lockUsersOf(tx, message.tenant, message.tickets);
  const [held] = await holdEvents(tx, message.tenant, message.tickets);
  if (held === undefined) return NOTHING;
  if (held.rescueCount > MAX_EVENT_RESCUES) return giveUp(tx, held);
  const others = await take([held.id]);
  if (others.get(held.id) === true) return NOTHING;
  return decideTaken(deps, message, { tx, events: await takeEventAlone(tx, message.tenant, held) });
}

async function decideTaken(
  deps: DecideDeps,
  message: EventBatch,
  { tx, events }: { tx: Tx; events: readonly OutboxEvent[] },
): Promise<DecidedEvents> {
  if (events.length === 0) return NOTHING;
  for (const { userId } of events) deps.meet?.(userId);
  const fresh = notReplayed(events);
  await followPeople(tx, message.tenant, fresh);
  const met = message.awaited ? await meetAll(tx, fresh) : [];
  const { candidates, rejected, flooding } = await evaluateEvents(tx, message.tenant, events);
  const repeated = await withoutRepeats(tx, events, candidates);
  const { kept, ended } = await chooseFirings(tx, repeated.kept);
  const carried = await carryOut(tx, kept);
  const unrecorded: LogEntry[] = [...met, ...rejected, ...repeated.ended, ...ended, ...carried.entries];
  await recordDecisions(tx, [...unrecorded, ...countUnmatched(flooding)]);
  const entries = [...unrecorded, ...flooding, ...carried.recorded];
  await openAttention(tx, attentionItems(entries));
  deps.reach?.('decide_event.deciding');
  return { taken: events.length, entries, deliveries: carried.deliveries, setAside: [] };
}

async function giveUp(tx: Tx, event: HeldEvent): Promise<DecidedEvents> {
  await giveUpEvent(tx, event);
  const errorMessage = `${event.rescueCount} processes died while they decided it`;
  const entry = await recordDead(tx, event, { reasonCode: 'kills_its_process', errorMessage });
  return { ...NOTHING, taken: 1, entries: [entry] };
}

/** That an event is decided by nobody any more: for the history, and for a person to see. */
async function recordDead(
  tx: Tx,
  event: HeldEvent,
  why: Pick<LogEntry, 'reasonCode' | 'errorMessage'>,
): Promise<LogEntry> {
  const { organizationId, lineOaId, userId, eventId, rootId, topic } = event;
  const entry: LogEntry = {
    ...{ organizationId, lineOaId, userId, eventId, rootId, triggerRuleId: null, ruleVersion: null, action: null },
    ...{ triggerOn: topic, decision: 'failed', ...why },
  };
  await recordDecisions(tx, [entry]);
  await openAttention(tx, [deadItem(event, entry.reasonCode)]);
  return entry;
}

const deadItem = ({ organizationId, lineOaId, id, userId, rescueCount }: HeldEvent, reasonCode: ReasonCode) => ({
  ...{ organizationId, lineOaId, kind: 'event_dead' as const, refId: id, userId, reasonCode },
  detail: { rescueCount },
});

/** Waits that these events end, and dates that they move. */
async function meetAll(tx: Tx, events: readonly OutboxEvent[]): Promise<LogEntry[]> {
  await lockToldActions(tx, { facts: events.flatMap(factsOf), moved: events.flatMap(anchorsOf) });
  const met = [...(await meetWaits(tx, events)), ...(await moveAnchors(tx, events))];
  if (met.some(({ decision }) => decision === 'unlocked' || decision === 'scheduled')) await wakeDue(tx);
  return met;
}

async function evaluateEvents(tx: Tx, tenant: Tenant, events: readonly OutboxEvent[]): Promise<Evaluated> {
  const rules = await rulesFor(tx, tenant, events);
  if (rules.length === 0) return { candidates: [], rejected: [], flooding: [] };
  const users = await getLineUsers(tx, events);
  const factsFor = await loadEventFacts(tx, { tenant, events, rules });
  const evaluated = events.map((event) => {
    const user = users.get(lineUserKey(event));
    const known = user && { user, factsFor: (rule: TriggerRule) => factsFor(event)(rule, user) };
    return evaluateEvent(event, rules, known);
  });
  return {
    candidates: evaluated.flatMap(({ candidates }) => candidates),
    rejected: evaluated.flatMap(({ rejected }) => rejected),
    flooding: evaluated.flatMap(({ flooding }) => flooding),
  };
}

async function recordFailure(
  deps: DecideDeps,
  { tenant, ticket }: { tenant: Tenant; ticket: Ticket },
  error: unknown,
): Promise<void> {
  deps.log.error({ err: error, eventRow: ticket.id }, 'an event could not be decided; it is tried again later');
  deps.onDecided('event', 'failed');
  await inTransaction(deps.db, async (tx) => {
    const [held] = await holdEvents(tx, tenant, [ticket]);
    if (held !== undefined && (await failEvent(tx, held)))
      await recordDead(tx, held, { reasonCode: 'decision_failed', errorMessage: safeErrorText(error) });
  });
}

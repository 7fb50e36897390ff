import { openAttention } from '@dueline/attention';
import type { EventTopic, TenantTicket, Tickets } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import {
  failEvent,
  giveUpEvent,
  type HeldEvent,
  holdEvents,
  MAX_EVENT_RESCUES,
  suspectEvents,
  takeEventAlone,
  takeEvents,
} from '@dueline/db/changes';
import { discarded, type Handler } from '@dueline/mq';
import { gather, safeErrorText } from '@dueline/runtime';
import { type LogEntry, type ReasonCode, recordDecisions } from '@dueline/trigger-rules';
import { type DecidedEvents, decideTaken, NOTHING } from './decide-events.ts';
import type { DecideDeps } from './deps.ts';
import { decideInHand, type Take } from './in-hand.ts';
import { lockUsersOf, whereMayBeAwaited } from './meet-waits.ts';
import { type Committed, decideAndConclude } from './split.ts';

/** Tickets that one transaction decides at most, and transactions at once: while one waits for the database, another works here. */
const TICKETS_AT_ONCE = 200;
const TRANSACTIONS_AT_ONCE = 2;
/** Tickets of one claim come in a message for each account, and are decided in one transaction if they come within this time. */
const SETTLE_MS = 2;

/** Which events one transaction decides. */
interface EventBatch {
  readonly tickets: readonly TenantTicket[];
  /** Accounts in which something may wait for such events: their people are locked before anything else. */
  readonly awaited: ReadonlySet<string>;
}

/**
 * Consumer of an event queue: which waits does each event end, which rules of its account does it set off, and what follows. Messages that
 * are here at the same time are decided together, of whatever accounts they are: one transaction takes the events out of the outbox and
 * writes every consequence. A kill repeats what was in hand, and the events of a message that comes back are decided one by one; a repeated
 * or stale ticket finds nothing. Acked after the commit.
 */
export function handleTriggerEvents(deps: DecideDeps, topic: EventTopic): Handler<Tickets> {
  const handleTogether = gather(
    async (messages: readonly (readonly TenantTicket[])[]) => {
      const handled = await handleTickets(deps, topic, { tickets: messages.flat(), alone: false });
      return messages.map(() => handled); // one result for all, so that the next ones are decided while it is concluded
    },
    {
      maxSize: TICKETS_AT_ONCE,
      sizeOf: (tickets) => tickets.length,
      atOnce: TRANSACTIONS_AT_ONCE,
      settleMs: SETTLE_MS,
    },
  );
  return async ({ tenant: { organizationId, lineOaId }, data, deliveryCount }) => {
    await deps.ready();
    const tickets = data.tickets.map(({ id, fence }) => ({ id, fence, organizationId, lineOaId }));
    const handled = deliveryCount > 0 ? await handleAgain(deps, topic, tickets) : await handleTogether(tickets);
    const taken = await handled.ids;
    const events = new Set(tickets.map(({ id }) => id).filter((id) => taken.has(id))).size;
    if (events > 0) deps.reach?.('decide_event.handled');
    return events === 0 ? discarded('no ticket held an event') : { outcome: 'done', detail: { events } };
  };
}

/** Whoever had these in hand may have died of one of them. */
async function handleAgain(deps: DecideDeps, topic: EventTopic, tickets: readonly TenantTicket[]): Promise<Committed> {
  const ids = tickets.map(({ id }) => id);
  await deps.gate.alone(() => suspectEvents(deps.db, ids));
  return handleTickets(deps, topic, { tickets, alone: true });
}

/** Decides announced events, alone where one spoils the others or may kill us; what fails is tried again later. */
export const handleTickets = (
  deps: DecideDeps,
  topic: EventTopic,
  { tickets, alone }: { tickets: readonly TenantTicket[]; alone: boolean },
): Promise<Committed> =>
  decideAndConclude(tickets, {
    ...{ gate: deps.gate, log: deps.log, alone },
    decide: async (some, how) => {
      const awaited = await whereMayBeAwaited(deps.db, topic, some);
      return decideEvents(deps, { tickets: some, awaited }, how.alone);
    },
    idsOf: ({ taken }) => taken,
    conclude: (decided) => {
      if (decided.taken.length > 0) deps.reach?.('decide_event.committed');
      deps.onTaken?.(topic, 'queue', decided.taken.length);
      return concludeEvents(deps, decided);
    },
    onFailure: (ticket, error) => recordFailure(deps, ticket, error),
  });

/** What comes after the commit: metrics, and the tickets of new deliveries. A crash before it costs one sweep, not a message. */
export async function concludeEvents(
  deps: Pick<DecideDeps, 'onDecided' | 'handOver'>,
  { entries, deliveries }: DecidedEvents,
): Promise<void> {
  for (const entry of entries) deps.onDecided('event', entry.decision);
  await deps.handOver(deliveries);
}

const decideEvents = (deps: DecideDeps, batch: EventBatch, alone: boolean): Promise<DecidedEvents> =>
  alone
    ? decideInHand(deps, 'event', (tx, take) => decideAlone(deps, batch, { tx, take }))
    : inTransaction(deps.db, (tx) => decideTogether(deps, batch, tx));

const lockPeople = (tx: Tx, { tickets, awaited }: EventBatch): Promise<void> =>
  lockUsersOf(
    tx,
    tickets.filter(({ lineOaId }) => awaited.has(lineOaId)),
  );

async function decideTogether(deps: DecideDeps, batch: EventBatch, tx: Tx): Promise<DecidedEvents> {
  await lockPeople(tx, batch);
  const events = await takeEvents(tx, batch.tickets);
  const setAside = events.length < batch.tickets.length ? await holdEvents(tx, batch.tickets) : [];
  return { ...(await decideTaken(deps, tx, { events, awaited: batch.awaited })), setAside };
}

/** One event, with its name in hand; given up when it kills whoever decides it, and left to another process that has it in hand. */
async function decideAlone(
  deps: DecideDeps,
  batch: EventBatch,
  { tx, take }: { tx: Tx; take: Take },
): Promise<DecidedEvents> {
  await lockPeople(tx, batch);
  const [held] = await holdEvents(tx, batch.tickets);
  if (held === undefined) return NOTHING;
  if (held.rescueCount > MAX_EVENT_RESCUES) return giveUp(tx, held);
  const others = await take([held.id]);
  if (others.get(held.id) === true) return NOTHING;
  return decideTaken(deps, tx, { events: await takeEventAlone(tx, held), awaited: batch.awaited });
}

async function giveUp(tx: Tx, event: HeldEvent): Promise<DecidedEvents> {
  await giveUpEvent(tx, event);
  const errorMessage = `${event.rescueCount} processes died while they decided it`;
  const entry = await recordDead(tx, event, { reasonCode: 'kills_its_process', errorMessage });
  return { ...NOTHING, taken: [event.id], entries: [entry] };
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

async function recordFailure(deps: DecideDeps, ticket: TenantTicket, error: unknown): Promise<void> {
  deps.log.error({ err: error, eventRow: ticket.id }, 'an event could not be decided; it is tried again later');
  deps.onDecided('event', 'failed');
  await inTransaction(deps.db, async (tx) => {
    const [held] = await holdEvents(tx, [ticket]);
    if (held !== undefined && (await failEvent(tx, held)))
      await recordDead(tx, held, { reasonCode: 'decision_failed', errorMessage: safeErrorText(error) });
  });
}

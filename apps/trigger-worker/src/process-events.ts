import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventTopic } from '@dueline/contracts';
import { lockUsers, type Tx } from '@dueline/db';
import { claimEvents, type TakenEvents, takeFreshEvents } from '@dueline/db/changes';
import { groupBy } from '@dueline/kernel';
import { withSpan } from '@dueline/runtime';
import { type DecidedEvents, decideTaken } from './decide-events.ts';
import type { DecideDeps } from './deps.ts';
import { concludeEvents, handleTickets } from './handle-trigger-event.ts';
import { decideInHand } from './in-hand.ts';
import { whereMayBeAwaited } from './meet-waits.ts';
import { createOutboxPlace, type OutboxPlace } from './outbox-place.ts';
import { isNotReady } from './split.ts';

/** Events that one transaction decides at most. */
const EVENTS_AT_ONCE = 200;
/** How long events of a batch that failed are this process's, in seconds: should it die meanwhile, they are announced to all. */
const RETRY_LEASE_SECONDS = 5;
/** Batches whose tickets are on their way to the broker while the next one is decided. */
const HANDED_OVER_AT_ONCE = 4;

/** Which events a batch took, and which of them a process may have died of. */
interface Batch {
  ids: readonly string[];
  suspects: readonly string[];
}

/** What was decided, and a way to go on in its trace. */
interface Decided {
  readonly topic: EventTopic;
  readonly decided: DecidedEvents;
  readonly inTrace: ReturnType<typeof AsyncLocalStorage.snapshot>;
}

/**
 * The inline profile of events: takes what just happened out of the outbox and decides it, in one transaction and without the broker. What waits
 * while a batch is decided makes the next one. Beside it stands which events it has in hand, because a crash leaves no trace of them. A batch
 * that fails is claimed, and decided as if it had been announced: its halves, and so on.
 *
 * @returns A run that says whether anything was there: then there may be more. What a batch decided is handed over while the next one is taken.
 */
export function processEvents(given: DecideDeps): () => Promise<boolean> {
  const deps = { ...given, claimedBy: `${given.claimedBy}+events` }; // with a hand of its own, beside that of due actions
  const place = createOutboxPlace();
  const handingOver = new Set<Promise<void>>();
  const handOver = async ({ decided, inTrace }: Decided) => {
    try {
      await inTrace(() => concludeEvents(deps, decided));
    } catch (error) {
      deps.log.error({ err: error }, 'what follows from decided events is left to the sweep');
    }
  };
  return async () => {
    await deps.ready();
    const batch: Batch = { ids: [], suspects: [] };
    try {
      const result = await decideFresh(deps, place, batch);
      if (result === undefined) return false;
      deps.reach?.('process_event.committed');
      place.took(batch.ids);
      deps.onTaken?.(result.topic, 'inline', batch.ids.length);
      const handing: Promise<void> = handOver(result).finally(() => handingOver.delete(handing));
      handingOver.add(handing);
      if (handingOver.size >= HANDED_OVER_AT_ONCE) await Promise.race(handingOver);
    } catch (error) {
      if (isNotReady(error) || batch.ids.length === 0) throw error;
      deps.log.warn({ err: error, events: batch.ids.length }, 'a batch of events failed; it is decided in parts');
      await decideAgain(deps, batch);
    }
    return true;
  };
}

/** One batch. Which events it takes is told to `batch`, for when it fails. */
const decideFresh = (deps: DecideDeps, place: OutboxPlace, batch: Batch): Promise<Decided | undefined> =>
  deps.gate.together(() =>
    decideInHand(deps, 'event', async (tx, take) => {
      const look = place.look();
      const taken = await takeFreshEvents(tx, { limit: EVENTS_AT_ONCE, from: look.from }).finally(look.ended);
      if (taken === undefined) return undefined;
      batch.ids = taken.ids;
      const [others, awaited] = await Promise.all([
        take(taken.ids),
        whereMayBeAwaited(deps.db, taken.topic, taken.tenants),
      ]);
      batch.suspects = [...others.keys()];
      // Whoever has them in hand lost its transaction, or they would not be there to be taken: and perhaps its life.
      if (batch.suspects.length > 0)
        throw new Error(`${batch.suspects.length} of them are in the hand of another process`);
      return decideBatch(deps, tx, { taken, awaited });
    }),
  );

const decideBatch = (
  deps: DecideDeps,
  tx: Tx,
  { taken: { ids, topic, read }, awaited }: { taken: TakenEvents; awaited: ReadonlySet<string> },
): Promise<Decided> =>
  withSpan(`process ${topic}`, { attributes: { 'dueline.events': ids.length } }, async () => {
    const events = read();
    await lockUsers(
      tx,
      events.filter(({ lineOaId }) => awaited.has(lineOaId)),
    );
    const decided = await decideTaken(deps, tx, { events, awaited });
    deps.reach?.('process_event.deciding');
    return { topic, decided, inTrace: AsyncLocalStorage.snapshot() };
  });

async function decideAgain(deps: DecideDeps, { ids, suspects }: Batch): Promise<void> {
  const tickets = await claimEvents(deps.db, ids, { leaseSeconds: RETRY_LEASE_SECONDS, suspects });
  for (const [topic, ofTopic] of groupBy(tickets, (ticket) => ticket.topic)) {
    const handled = await handleTickets(deps, topic, { tickets: ofTopic, alone: false });
    await handled.ids;
  }
}

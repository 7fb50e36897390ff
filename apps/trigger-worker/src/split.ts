import type { Ticket } from '@dueline/contracts';
import { tookTooLong } from '@dueline/db';
import { chunk, TransientError } from '@dueline/kernel';
import type { Log } from '@dueline/mq';
import type { Gate } from './gate.ts';

/** Into how many parts rows go that cannot be decided together. Of what took too long each further level costs its time once more, and a message has a minute. */
const PARTS = { spoilt: 2, tookTooLong: 8 };

/** How the tickets of one message, or of one claim, are decided. */
interface Deciding<T extends Ticket> {
  readonly gate: Gate;
  /** Each ticket alone: the message came back, so whoever had it may have died of one of its rows. */
  readonly alone: boolean;
  /** Decides these rows. Returns those that it left, because they must be decided alone. */
  readonly decide: (tickets: readonly T[], how: { alone: boolean }) => Promise<readonly T[]>;
  /** What a row costs that cannot be decided: itself only. */
  readonly onFailure: (ticket: T, error: unknown) => Promise<void>;
}

/**
 * Decides all tickets in one go, and then alone what must be. When a row spoils the lot, its parts are decided, and so on; what a
 * single throws goes to `onFailure`. Transient errors are thrown on: the consumer keeps the message and tries again in place.
 */
async function decideOrSplit<T extends Ticket>(tickets: readonly T[], deciding: Deciding<T>): Promise<void> {
  const left = deciding.alone ? tickets : await decideTogether(tickets, deciding);
  for (const ticket of left) {
    await deciding.gate.alone(() => decideSingle(ticket, { ...deciding, alone: true }));
  }
}

/** The same, with what comes after each commit. */
export interface Concluding<T extends Ticket, Decided extends { readonly setAside: readonly T[] }>
  extends Omit<Deciding<T>, 'decide'> {
  readonly log: Pick<Log, 'error'>;
  readonly decide: (tickets: readonly T[], how: { alone: boolean }) => Promise<Decided>;
  /** Which rows were decided. */
  readonly idsOf: (decided: Decided) => readonly string[];
  /** What comes after the commit. A crash before it costs one sweep, and so does what it throws. */
  readonly conclude: (decided: Decided) => Promise<void>;
}

/** What was committed. */
export interface Committed {
  /** The ids of the rows that were decided, as soon as what follows was handed over. Never rejects. */
  readonly ids: Promise<ReadonlySet<string>>;
}

/** Decides as {@link decideOrSplit} does, and concludes what was committed while the next rows are decided. */
export async function decideAndConclude<T extends Ticket, Decided extends { readonly setAside: readonly T[] }>(
  tickets: readonly T[],
  { log, decide, idsOf, conclude, ...deciding }: Concluding<T, Decided>,
): Promise<Committed> {
  const ids = new Set<string>();
  const concluding: Promise<void>[] = [];
  // Nobody waits for it while the next rows are decided, or when they throw: what it throws would end the process.
  const concludeBeside = async (decided: Decided) => {
    try {
      await conclude(decided);
    } catch (error) {
      log.error({ err: error, rows: idsOf(decided).length }, 'what follows from decided rows is left to the sweep');
    }
  };
  await decideOrSplit(tickets, {
    ...deciding,
    decide: async (some, how) => {
      const decided = await decide(some, how);
      for (const id of idsOf(decided)) ids.add(id);
      concluding.push(concludeBeside(decided));
      return decided.setAside;
    },
  });
  return { ids: Promise.all(concluding).then(() => ids) };
}

async function decideTogether<T extends Ticket>(tickets: readonly T[], deciding: Deciding<T>): Promise<readonly T[]> {
  const { gate, decide } = deciding;
  const [first] = tickets;
  if (first === undefined) return [];
  if (tickets.length === 1) return gate.together(() => decideSingle(first, deciding));
  try {
    return await gate.together(() => decide(tickets, { alone: false }));
  } catch (error) {
    if (isNotReady(error)) throw error;
    return decideParts(tickets, deciding, tookTooLong(error) ? PARTS.tookTooLong : PARTS.spoilt);
  }
}

async function decideParts<T extends Ticket>(
  tickets: readonly T[],
  deciding: Deciding<T>,
  parts: number,
): Promise<readonly T[]> {
  const left: T[] = [];
  for (const part of chunk(tickets, Math.ceil(tickets.length / parts)))
    left.push(...(await decideTogether(part, deciding)));
  return left;
}

async function decideSingle<T extends Ticket>(
  ticket: T,
  { decide, onFailure, alone }: Deciding<T>,
): Promise<readonly T[]> {
  try {
    return await decide([ticket], { alone });
  } catch (error) {
    if (isNotReady(error)) throw error;
    await onFailure(ticket, error);
    return [];
  }
}

/**
 * An error that says the world was not ready; anything else may be the row's own fault. What took too long may: where the database itself is slow, what
 * goes to `onFailure` is not written down either, and costs no try.
 */
export const isNotReady = (error: unknown): boolean => error instanceof TransientError && !tookTooLong(error);

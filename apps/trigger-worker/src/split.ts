import type { Ticket } from '@dueline/contracts';
import { TransientError } from '@dueline/kernel';

/**
 * Decides all tickets in one go. When a row spoils it, each is decided alone, so that it costs itself only; what a single
 * throws goes to `onFailure`. Transient errors are thrown on: the consumer keeps the message and tries again in place.
 */
export async function decideOrSplit<T extends Ticket>(
  tickets: readonly T[],
  decide: (tickets: readonly T[]) => Promise<void>,
  onFailure: (ticket: T, error: unknown) => Promise<void>,
): Promise<void> {
  try {
    await decide(tickets);
    return;
  } catch (error) {
    if (isNotReady(error)) throw error;
    if (tickets.length === 1 && tickets[0] !== undefined) return onFailure(tickets[0], error);
  }
  for (const ticket of tickets) await decideOrSplit([ticket], decide, onFailure);
}

/** An error that says the world was not ready; anything else may be the row's own fault. */
const isNotReady = (error: unknown): boolean => error instanceof TransientError;

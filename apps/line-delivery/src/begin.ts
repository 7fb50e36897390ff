import type { Db } from '@dueline/db';
import { mayBegin, type StartedSend } from '@dueline/deliveries';

/** What is known to be wanted is believed for so long. */
const BELIEVED_MS = 250;
/** Beyond that, for a connection. A busy machine has a quarter of a second more: whoever stopped a campaign sees nothing new of it a second later. */
const CONNECT_MS = 500;
/** A database that answers ever more slowly must not hold a slot for long. */
const MOST_QUESTIONS = 5;

/** A started delivery, and since when it is known that its request is wanted: an instant of `performance.now()` before that was asked. */
export interface KnownSend {
  readonly send: StartedSend;
  readonly knownAt: number;
}

/**
 * Until when, in `performance.now()`, the request of a delivery may begin. Between its start and its request a process may be slow, frozen,
 * or wait for a token; what was started long ago is asked for again, so that a stop reaches it too. Undefined: it is not wanted any more, or nobody
 * can tell in time; nothing of it has left.
 */
export async function beginBy(
  db: Db,
  { send, knownAt }: KnownSend,
  believedMs = BELIEVED_MS,
): Promise<number | undefined> {
  let known = knownAt;
  for (let asked = 0; performance.now() - known >= believedMs; asked += 1) {
    if (asked === MOST_QUESTIONS) return undefined;
    known = performance.now();
    if (!(await mayBegin(db, send))) return undefined;
    if (believedMs === 0) break; // asked for each
  }
  return known + believedMs + CONNECT_MS;
}

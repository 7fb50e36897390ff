import type { LedgerStore } from '../ledger/ledger-store.ts';
import type { Channel } from './channels.ts';

/** What a channel knows of one retry key, as numbers of the ledger; there may be a million of these. */
export interface KeyUse {
  readonly firstRequest: number;
  attempts: number;
  /** The accept, 0 as long as no request with the key was accepted. */
  accept: number;
}

const RETRY_KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isRetryKey(value: string): boolean {
  return RETRY_KEY.test(value);
}

/** Counts one more attempt with the key; a new key starts its record. */
export function noteAttempt(channel: Channel, key: string, request: number): KeyUse {
  const known = channel.keys.get(key);
  if (known !== undefined) {
    known.attempts += 1;
    return known;
  }
  const use: KeyUse = { firstRequest: request, attempts: 1, accept: 0 };
  channel.keys.set(key, use);
  return use;
}

/** Whether the key was accepted so long ago that it counts as new. */
export function isKeyWindowOver(
  channel: Channel,
  store: LedgerStore,
  { use, at }: { use: KeyUse; at: number },
): boolean {
  if (use.accept === 0) return false;
  const { keyWindowFrom, keyWindowMs } = channel.settings.knobs;
  const from =
    keyWindowFrom === 'accepted' ? store.accepts.at.get(use.accept - 1) : store.requests.at.get(use.firstRequest - 1);
  return at >= from + keyWindowMs;
}

/** Requests in flight by their retry key: a second one waits until the first is answered. */
export interface KeyGate {
  /** Enters; `overlaps` says that another request with this key is under way, and `turn` ends when they all are done. */
  enter(key: string): { readonly overlaps: boolean; readonly turn: Promise<void> | undefined; leave(): void };
}

export function createKeyGate(): KeyGate {
  const last = new Map<string, Promise<void>>();
  return {
    enter(key) {
      const before = last.get(key);
      const { promise, resolve } = Promise.withResolvers<void>();
      // The next one waits for all before it, not only for the one just ahead, which may give up early.
      const done = before === undefined ? promise : Promise.all([before, promise]).then(() => undefined);
      last.set(key, done);
      return {
        overlaps: before !== undefined,
        turn: before,
        leave() {
          resolve();
          if (last.get(key) === done) last.delete(key);
        },
      };
    },
  };
}

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

/** Whether a request waits for those that are under way with its key; so it does where the channel is not known. */
export const isSerial = (channel: Channel | undefined): boolean =>
  channel === undefined || channel.settings.knobs.sameKeyInFlight === 'serialize';

/** A request among those that are in flight with its retry key. */
interface Passage {
  /** Numbers of the requests that were in flight with the same key at any moment of this one; grows until it leaves. */
  readonly peers: ReadonlySet<number>;
  /** Ends when all that were under way at its arrival are done; undefined when there were none. */
  readonly turn: Promise<void> | undefined;
  leave(): void;
}

/** Requests in flight by their retry key. */
export interface KeyGate {
  enter(key: string, request: number): Passage;
}

interface InFlight {
  readonly request: number;
  readonly peers: Set<number>;
  readonly done: Promise<void>;
}

export function createKeyGate(): KeyGate {
  const inFlight = new Map<string, Set<InFlight>>();
  return {
    enter(key, request) {
      const others = inFlight.get(key) ?? new Set();
      const { promise: done, resolve } = Promise.withResolvers<void>();
      const own: InFlight = { request, done, peers: new Set([...others].map((other) => other.request)) };
      // It waits for all before it, not only for the one just ahead, which may give up early.
      const turn =
        others.size === 0 ? undefined : Promise.all([...others].map((other) => other.done)).then(() => undefined);
      for (const other of others) other.peers.add(request);
      inFlight.set(key, others.add(own));
      return {
        peers: own.peers,
        turn,
        leave() {
          resolve();
          others.delete(own);
          if (others.size === 0 && inFlight.get(key) === others) inFlight.delete(key);
        },
      };
    },
  };
}

import type { Channel } from './channels.ts';

/** All that is known of one retry key on one channel. */
export interface KeyUse {
  /** Path of the endpoint that saw it first. */
  readonly path: string;
  readonly firstRequest: number;
  readonly firstSeenAt: number;
  attempts: number;
  /** Set once a request with the key was accepted, and replaced when its window is over and it is accepted anew. */
  accepted: { readonly accept: number; readonly at: number } | undefined;
}

const RETRY_KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isRetryKey(value: string): boolean {
  return RETRY_KEY.test(value);
}

/** Counts one more attempt with the key; a new key starts its record. */
export function noteAttempt(
  channel: Channel,
  key: string,
  first: Pick<KeyUse, 'path' | 'firstRequest' | 'firstSeenAt'>,
): KeyUse {
  const known = channel.keys.get(key);
  if (known !== undefined) {
    known.attempts += 1;
    return known;
  }
  const use: KeyUse = { ...first, attempts: 1, accepted: undefined };
  channel.keys.set(key, use);
  return use;
}

/** The instant from which an accepted key counts as new; undefined if it was never accepted. */
export function keyWindowEnd(channel: Channel, use: KeyUse): number | undefined {
  if (use.accepted === undefined) return undefined;
  const { keyWindowFrom, keyWindowMs } = channel.settings.knobs;
  return (keyWindowFrom === 'accepted' ? use.accepted.at : use.firstSeenAt) + keyWindowMs;
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

import { errorText } from '@dueline/kernel';
import { type Log, redisOptions } from '@dueline/runtime';
import { Redis } from 'ioredis';

/** Whether this is the first caller for a key that lives for `ttlMs`; true, too, when Redis does not say so in half a second. */
export type FirstOf = (key: string, ttlMs: number) => Promise<boolean>;

const COMMAND_TIMEOUT_MS = 500;

/**
 * The tick's key in Redis (SET NX). Redis only saves messages: a tick too many is harmless, because the database decides who
 * claims a campaign; so whatever goes wrong here means "yes". Never rejects and never waits longer than half a second.
 */
export function createTickKey({ url, log }: { url: string; log: Log }): {
  readonly firstOf: FirstOf;
  readonly close: () => void;
} {
  const redis = new Redis(url, redisOptions({ commandTimeoutMs: COMMAND_TIMEOUT_MS }));
  let isAway = false;
  const note = (error: unknown) => {
    if (!isAway) log.warn({ error: errorText(error) }, 'Redis is away: every replica ticks');
    isAway = true;
  };
  redis.on('error', note);
  return {
    firstOf: async (key, ttlMs) => {
      try {
        const set = await redis.set(key, '1', 'PX', ttlMs, 'NX');
        if (isAway) log.warn({}, 'Redis is back: one replica ticks');
        isAway = false;
        return set === 'OK';
      } catch (error) {
        note(error);
        return true;
      }
    },
    close: () => redis.disconnect(),
  };
}

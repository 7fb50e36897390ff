import { errorText } from '@dueline/kernel';
import type { Log } from '@dueline/mq';
import { redisOptions } from '@dueline/runtime';
import { Redis } from 'ioredis';
import { type Buckets, createLocalBuckets } from './buckets.ts';
import { createRedisBuckets } from './redis-buckets.ts';

const COMMAND_TIMEOUT_MS = 250;
const PROBE_EVERY_MS = 500;

export interface SharedBuckets extends Buckets {
  /** Whether the replicas share their buckets at this moment. */
  readonly isShared: () => boolean;
  readonly close: () => void;
}

/**
 * Buckets in Redis, and a share of each ceiling while Redis is away: a call that it does not answer within a quarter of a second
 * is answered here, and so are all that follow until a look each half second finds it back. Never rejects.
 *
 * @param options.url undefined: there is no Redis, and the share is all there is.
 */
export function createSharedBuckets({
  url,
  replicas,
  log,
}: {
  url: string | undefined;
  replicas: number;
  log: Log;
}): SharedBuckets {
  const local = createLocalBuckets({ replicas });
  if (url === undefined) {
    log.info({ replicas }, 'no Redis: this process sends at its share of the limits');
    return { ...local, isShared: () => false, close: () => undefined };
  }
  const redis = new Redis(url, redisOptions({ commandTimeoutMs: COMMAND_TIMEOUT_MS }));
  return switching({ redis, local, replicas, log });
}

function switching({
  redis,
  local,
  replicas,
  log,
}: {
  redis: Redis;
  local: Buckets;
  replicas: number;
  log: Log;
}): SharedBuckets {
  const shared = createRedisBuckets(redis);
  let mode: 'starting' | 'shared' | 'local' = 'starting';
  const isAway = (error: unknown) => {
    if (mode !== 'local')
      log.warn({ error: errorText(error), replicas }, 'Redis is away: this process sends at its share of the limits');
    mode = 'local';
  };
  const look = async () => {
    if (mode === 'shared') return;
    try {
      await shared.probe();
      if (mode === 'local') log.warn({}, 'Redis is back: replicas share the limits');
      mode = 'shared';
    } catch (error) {
      isAway(error);
    }
  };
  redis.on('ready', () => void look());
  redis.on('error', isAway);
  const looking = setInterval(() => void look(), PROBE_EVERY_MS);
  const either = async <T>(call: (buckets: Buckets) => Promise<T>): Promise<T> => {
    if (mode !== 'shared') return call(local);
    try {
      return await call(shared);
    } catch (error) {
      isAway(error);
      return call(local);
    }
  };
  return {
    isShared: () => mode === 'shared',
    take: (bucket, count) => either((buckets) => buckets.take(bucket, count)),
    putBack: (bucket, count) => either((buckets) => buckets.putBack(bucket, count)),
    halve: async (bucket) => {
      const own = await local.halve(bucket); // what was learnt here must not be forgotten when Redis goes
      return mode === 'shared' ? either((buckets) => buckets.halve(bucket)) : own;
    },
    close: () => {
      clearInterval(looking);
      redis.disconnect();
    },
  };
}

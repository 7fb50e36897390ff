import { CEILINGS } from '@dueline/deliveries';
import type { Redis } from 'ioredis';
import type { Buckets } from './buckets.ts';
import { type Bucket, nameOf } from './ceilings.ts';
import { SCRIPT, SCRIPT_SHA } from './script.ts';

export interface RedisBuckets extends Buckets {
  /** Whether Redis does what a permit needs: it answers, knows scripts and takes writes. Rejects when not. */
  probe(): Promise<void>;
}

type Answer = readonly [number, number, string];

/** Buckets that all replicas share, each call one round trip. Rejects when Redis does not answer. */
export function createRedisBuckets(redis: Redis, { clock = () => '' }: { clock?: () => string } = {}): RedisBuckets {
  const run = async (what: 'take' | 'halve' | 'back', name: string, { count = 0, perSecond = 1 } = {}) => {
    const args = [name, what, String(count), String(perSecond), clock()] as const;
    try {
      return (await redis.evalsha(SCRIPT_SHA, 1, ...args)) as Answer;
    } catch (error) {
      if (!String(error).includes('NOSCRIPT')) throw error;
      return (await redis.eval(SCRIPT, 1, ...args)) as Answer;
    }
  };
  const limitOf = ({ endpoint }: Bucket, count: number) => ({ count, perSecond: CEILINGS[endpoint] });
  return {
    take: async (bucket, count) => {
      const [granted, waitMs, share] = await run('take', nameOf(bucket), limitOf(bucket, count));
      return { granted, waitMs, share: Number(share) };
    },
    halve: async (bucket) => {
      const [halved, , share] = await run('halve', nameOf(bucket));
      return { halved: halved === 1, share: Number(share) };
    },
    putBack: async (bucket, count) => (await run('back', nameOf(bucket), limitOf(bucket, count)))[1],
    probe: async () => {
      await run('take', 'LINE_RATE:probe');
    },
  };
}

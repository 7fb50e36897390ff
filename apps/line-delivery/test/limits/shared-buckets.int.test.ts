import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CEILINGS } from '@dueline/deliveries';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createLocalBuckets } from '../../src/limits/buckets.ts';
import { createRedisBuckets } from '../../src/limits/redis-buckets.ts';
import { createSharedBuckets } from '../../src/limits/shared-buckets.ts';
import { hasRedis, startRedisServer } from './redis-server.ts';
import { silent } from './support.ts';

const SENDER = fileURLToPath(new URL('sender.ts', import.meta.url));
const LINES_LIMIT = 2_000;

describe.skipIf(!hasRedis)(`limits in a Redis of one's own${hasRedis ? '' : ' (not installed here)'}`, () => {
  let server: Awaited<ReturnType<typeof startRedisServer>>;
  beforeAll(async () => {
    server = await startRedisServer();
  }, 30_000);
  afterAll(() => server?.remove());

  /** The buckets of a replica, once they are shared; a bucket that no other test uses. */
  async function replica() {
    const log = { ...silent, warn: vi.fn() };
    const buckets = createSharedBuckets({ url: server.url, replicas: 4, log });
    onTestFinished(() => buckets.close());
    await expect.poll(() => buckets.isShared(), { timeout: 10_000 }).toBe(true);
    const bucket = { lineOaId: crypto.randomUUID(), endpoint: 'push' } as const;
    return { buckets, bucket, said: () => log.warn.mock.calls.map(([, text]) => text) };
  }

  test('two processes together stay below what LINE allows in every second, and use what we allow ourselves', {
    timeout: 60_000,
  }, async () => {
    const runs = [1, 2].map(() =>
      promisify(execFile)(process.execPath, [SENDER, server.url, '3000'], { maxBuffer: 1e7 }),
    );
    const each = (await Promise.all(runs)).map(({ stdout }) => JSON.parse(stdout) as number[]);
    const begun = each.flat().sort((a, b) => a - b);

    const seconds = begun.map((from, first) => begun.filter((at, n) => n >= first && at < from + 1_000).length);
    expect(Math.max(...seconds)).toBeLessThan(LINES_LIMIT);
    const tookMs = (begun.at(-1) ?? 0) - (begun[0] ?? 0);
    expect(begun.length).toBeLessThanOrEqual((CEILINGS.push * tookMs) / 1_000 + CEILINGS.push / 5);
    expect(begun.length).toBeGreaterThan(CEILINGS.push * 2);
    for (const own of each) expect(own.length).toBeGreaterThan(0);
  });

  test('Redis counts as this process does, whatever is asked for', { timeout: 30_000 }, async () => {
    const redis = new Redis(server.url);
    onTestFinished(() => redis.disconnect());
    const step = fc.record({
      what: fc.constantFrom('take', 'take', 'take', 'halve', 'putBack'),
      afterMs: fc.constantFrom(0, 1, 7, 50, 1_000, 5_000, 12_000),
      count: fc.integer({ min: 1, max: 300 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        let nowMs = 1_700_000_000_000;
        const bucket = { lineOaId: crypto.randomUUID(), endpoint: 'multicast' } as const;
        const here = createLocalBuckets({ replicas: 1, clock: () => nowMs });
        const there = createRedisBuckets(redis, { clock: () => String(nowMs) });
        for (const { what, afterMs, count } of steps) {
          nowMs += afterMs;
          if (what === 'halve') {
            const [own, shared] = [await here.halve(bucket), await there.halve(bucket)];
            expect(shared.halved).toBe(own.halved);
            expect(shared.share).toBeCloseTo(own.share, 6);
          } else if (what === 'putBack') {
            expect(await there.putBack(bucket, count)).toBe(await here.putBack(bucket, count));
          } else {
            const [own, shared] = [await here.take(bucket, count), await there.take(bucket, count)];
            // What is stored has three digits behind the millisecond, so that one permit may fall to either side.
            expect(Math.abs(shared.granted - own.granted)).toBeLessThanOrEqual(1);
            expect(Math.abs(shared.waitMs - own.waitMs)).toBeLessThanOrEqual(
              Math.ceil(1_000 / (CEILINGS.multicast * own.share)),
            );
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  test('what one replica learns of a 429 holds for the other', async () => {
    const [one, two] = [await replica(), await replica()];
    expect(await one.buckets.halve(one.bucket)).toEqual({ halved: true, share: 0.5 });
    expect(await two.buckets.halve(one.bucket)).toEqual({ halved: false, share: 0.5 });
    expect(await two.buckets.take(one.bucket, 1)).toMatchObject({ share: 0.5 });
  });

  test('keys end by themselves', async () => {
    const { buckets, bucket } = await replica();
    await buckets.take(bucket, 1);
    const redis = new Redis(server.url);
    onTestFinished(() => redis.disconnect());
    const leftMs = await redis.pttl(`LINE_RATE:push:${bucket.lineOaId}`);
    expect(leftMs).toBeGreaterThan(50_000);
    expect(leftMs).toBeLessThanOrEqual(60_000);
  });

  test('a Redis that is emptied costs a burst and nothing else', async () => {
    const { buckets, bucket, said } = await replica();
    await buckets.take(bucket, 1_000);
    const redis = new Redis(server.url);
    onTestFinished(() => redis.disconnect());
    await redis.flushall();
    expect(await buckets.take(bucket, 100)).toEqual({ granted: 100, waitMs: 0, share: 1 });
    expect(said()).toEqual([]);
  });

  const AWAY: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
    ['is killed', () => server.kill(), () => server.start()],
    ['hangs', () => server.freeze(), () => server.thaw()],
  ];
  test.for(AWAY)(
    'when Redis %s this process goes on at once at its share of the limit, and shares again when it is back',
    { timeout: 30_000 },
    async ([, leave, comeBack]) => {
      const { buckets, bucket, said } = await replica();
      await leave();

      const begin = performance.now();
      const taken = await Promise.all(Array.from({ length: 20 }, () => buckets.take(bucket, 100)));

      expect(performance.now() - begin).toBeLessThan(1_000);
      const granted = taken.reduce((sum, permits) => sum + permits.granted, 0);
      expect(granted).toBeGreaterThan(0);
      expect(granted).toBeLessThanOrEqual((CEILINGS.push / 4) * 1.2);
      expect(buckets.isShared()).toBe(false);
      await comeBack();
      await expect.poll(() => buckets.isShared(), { timeout: 15_000 }).toBe(true);
      expect(await buckets.take({ ...bucket, lineOaId: `${bucket.lineOaId}-2` }, 10)).toMatchObject({
        granted: 10,
        share: 1,
      });
      expect(said()).toEqual([expect.stringContaining('is away'), expect.stringContaining('is back')]);
    },
  );

  test('what was learnt of a 429 is not forgotten when Redis goes', { timeout: 30_000 }, async () => {
    const { buckets, bucket } = await replica();
    await buckets.halve(bucket);
    await server.kill();
    const { share } = await buckets.take(bucket, 1);
    await server.start();
    expect(share).toBe(0.5 / 4);
  });
});

test('without Redis a process keeps to its share from the start', async () => {
  const buckets = createSharedBuckets({ url: undefined, replicas: 2, log: silent });
  expect((await buckets.take({ lineOaId: '1', endpoint: 'multicast' }, 1_000)).granted).toBe(77); // a second of 70/s, and a burst
});

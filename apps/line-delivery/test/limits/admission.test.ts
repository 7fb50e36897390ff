import { CEILINGS } from '@dueline/deliveries';
import { expect, test } from 'vitest';
import { createInHand } from '../../src/in-hand.ts';
import { createAdmission } from '../../src/limits/admission.ts';
import { createLocalBuckets } from '../../src/limits/buckets.ts';

const { signal } = new AbortController();
const BUSY = { lineOaId: '1', endpoint: 'multicast' } as const;
const QUIET = { lineOaId: '2', endpoint: 'multicast' } as const;

/** Hands out all that `messages` messages of 100 tickets of one account may begin; each slot is given back at once. */
function sender({ slots = 1_000, messages = 30 } = {}) {
  const inHand = createInHand(slots);
  const buckets = createLocalBuckets({ replicas: 1 });
  const admit = createAdmission({ buckets, inHand });
  const begun: number[] = [];
  const putBackMs: number[] = [];
  const message = async () => {
    for (let rest = 100; rest > 0; ) {
      const admission = await admit(BUSY, { atMost: rest, signal });
      for (let n = 0; n < admission.slots; n += 1) {
        begun.push(performance.now());
        inHand.give();
      }
      putBackMs.push(...admission.putBackMs);
      rest -= admission.slots + admission.putBackMs.length;
    }
  };
  return { admit, inHand, begun, putBackMs, run: () => Promise.all(Array.from({ length: messages }, message)) };
}

test('an account that has far too much begins what a second allows, puts back the rest at once and in order, and loses none', async () => {
  const { begun, putBackMs, run } = sender();
  const startedAt = performance.now();

  await run();

  const tookMs = performance.now() - startedAt;
  expect(begun.length + putBackMs.length).toBe(3_000);
  expect(begun.length).toBeLessThanOrEqual((CEILINGS.multicast * tookMs) / 1_000 + CEILINGS.multicast / 10 + 1);
  expect(begun.length).toBeGreaterThan(CEILINGS.multicast / 2);
  expect(tookMs).toBeLessThan(2_500);
  expect(Math.min(...putBackMs)).toBeGreaterThanOrEqual(1_000);
  const perSecond = Map.groupBy(putBackMs, (ms) => Math.floor(ms / 1_000));
  for (const group of perSecond.values()) expect(group.length).toBeLessThanOrEqual(CEILINGS.multicast * 1.5); // seen from when each was put back
});

test('messages that come while their account is held up are put back as well, all but what a second allows', async () => {
  const { begun, putBackMs, run } = sender({ messages: 4 });
  await run(); // leaves the account held up
  const before = begun.length + putBackMs.length;
  const startedAt = performance.now();

  await Promise.all([run(), run()]);

  expect(begun.length + putBackMs.length - before).toBe(800);
  expect(performance.now() - startedAt).toBeLessThan(2_500);
});

test('while one account waits for its permits no slot is held for it, and another account is served at once', async () => {
  const { admit, inHand, run } = sender({ slots: 4 });
  const busy = run();
  await admit(BUSY, { atMost: 1, signal }).then(({ slots }) => slots === 1 && inHand.give());

  const begin = performance.now();
  for (let n = 0; n < 10; n += 1) {
    const { slots } = await admit(QUIET, { atMost: 1, signal });
    expect(slots).toBe(1);
    inHand.give();
  }

  expect(performance.now() - begin).toBeLessThan(2_000);
  await busy;
});

test('while every slot is taken, a campaign of any size leaves room for another account, which gets a slot in its turn', async () => {
  const inHand = createInHand(4);
  const admit = createAdmission({ buckets: createLocalBuckets({ replicas: 1 }), inHand });
  const stop = new AbortController();
  const atLine = await admit(BUSY, { atMost: 4, signal: stop.signal }); // LINE does not answer
  expect(atLine.slots).toBe(4);
  let waiting = 40;
  const message = () => admit(BUSY, { atMost: 100, signal: stop.signal }).finally(() => (waiting -= 1));
  const messages = Array.from({ length: waiting }, message);
  await expect.poll(() => waiting).toBeLessThan(4); // of what is prefetched nearly all is free for others again

  const quiet = admit(QUIET, { atMost: 1, signal: stop.signal });
  await new Promise(setImmediate); // both stand and wait now
  inHand.give(); // to the campaign, which was first,
  inHand.give(); // and to the other account
  expect(await quiet).toEqual({ slots: 1, putBackMs: [] });
  stop.abort();
  await Promise.all(messages);
});

test.for([1, 30])(
  'when there are fewer slots than permits, none is lost: what was begun is as much as with many slots (%i messages)',
  async (messages) => {
    const { begun, run } = sender({ slots: 1, messages });

    await run();

    expect(begun.length).toBeGreaterThan(CEILINGS.multicast / 2);
  },
);

test('a stop ends the wait, and no slot stays taken', async () => {
  const inHand = createInHand(10);
  const admit = createAdmission({ buckets: createLocalBuckets({ replicas: 140 }), inHand });
  const stop = new AbortController();
  const first = await admit(BUSY, { atMost: 1, signal: stop.signal });
  const waiting = admit(BUSY, { atMost: 1, signal: stop.signal });

  stop.abort();

  expect(first.slots).toBe(1);
  expect(await waiting).toEqual({ slots: 0, putBackMs: [] });
  inHand.give();
  await inHand.drain();
});

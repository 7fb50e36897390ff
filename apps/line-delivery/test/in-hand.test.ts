import { expect, test } from 'vitest';
import { createInHand, createPart } from '../src/in-hand.ts';

const never = new AbortController().signal;

test('at most so many slots are out at once; who waits gets the next one in order', async () => {
  const inHand = createInHand(2);
  const order: string[] = [];
  expect(await inHand.take(never)).toBe(true);
  expect(inHand.tryTake()).toBe(true);
  expect(inHand.tryTake()).toBe(false);
  const first = inHand.take(never).then((granted) => order.push(`first ${granted}`));
  const second = inHand.take(never).then((granted) => order.push(`second ${granted}`));

  inHand.give();
  inHand.give();
  await Promise.all([first, second]);

  expect(order).toEqual(['first true', 'second true']);
});

test('who stops waiting gets no slot, and the slot is not lost', async () => {
  const inHand = createInHand(1);
  await inHand.take(never);
  const gone = new AbortController();
  const waiting = inHand.take(gone.signal);

  gone.abort();
  inHand.give();

  expect(await waiting).toBe(false);
  expect(await inHand.take(gone.signal)).toBe(false);
  expect(inHand.tryTake()).toBe(true);
});

test('a drain refuses new work, also of those who wait, and ends when all is back', async () => {
  const inHand = createInHand(2);
  await inHand.take(never);
  await inHand.take(never);
  const waiting = inHand.take(never);
  let drained = false;
  const draining = inHand.drain().then(() => {
    drained = true;
  });

  expect(await waiting).toBe(false);
  expect(await inHand.take(never)).toBe(false);
  inHand.give();
  await Promise.resolve();
  expect(drained).toBe(false);
  inHand.give();
  await draining;
});

test('a drain with nothing in hand ends at once', async () => {
  await createInHand(3).drain();
});

test('a part never takes all slots, and gives each back to both', async () => {
  const whole = createInHand(4);
  const part = createPart(whole, 3);
  for (let n = 0; n < 3; n += 1) expect(await part.take(never)).toBe(true);
  expect(part.tryTake()).toBe(false);
  const next = part.take(never);
  expect(whole.tryTake()).toBe(true); // is left for the others
  expect(whole.tryTake()).toBe(false);
  part.give();
  expect(await next).toBe(true);
  whole.give();
  for (let n = 0; n < 3; n += 1) part.give();
  await Promise.all([part.drain(), whole.drain()]);
});

test('who waits in a part for a slot that others have may stop, and a drain refuses it', async () => {
  const whole = createInHand(1);
  const part = createPart(whole, 1);
  await whole.take(never);
  const gone = new AbortController();
  const waiting = part.take(gone.signal);
  gone.abort();
  expect(await waiting).toBe(false);
  const refused = part.take(never);
  const drained = Promise.all([part.drain(), whole.drain()]);
  expect(await refused).toBe(false);
  whole.give();
  await drained;
});

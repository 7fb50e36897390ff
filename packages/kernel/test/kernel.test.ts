import {
  chunk,
  errorText,
  failureKind,
  fullJitterMs,
  groupBy,
  MAX_TIMER_MS,
  PermanentError,
  PoisonError,
  sleep,
  storableText,
  TransientError,
} from '@dueline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const anyText = fc.string({
  unit: fc.oneof(fc.string({ unit: 'binary', minLength: 1 }), fc.constantFrom('\u0000', '\ud800', '\udfff', '🎉')),
});

test('text made storable has no NUL and no lone surrogate, is no longer than asked, and is left alone when it was fine', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 0, max: 20 }), (text, maxLength) => {
      const stored = storableText(text, maxLength);
      expect(stored.isWellFormed()).toBe(true);
      expect(stored).not.toContain('\u0000');
      expect(stored.length).toBeLessThanOrEqual(maxLength);
      expect(storableText(stored, maxLength)).toBe(stored);
      if (text.isWellFormed() && !text.includes('\u0000')) expect(text.startsWith(stored)).toBe(true);
    }),
  );
});

test('a cut never splits an emoji', () => {
  expect(storableText('ab🎉', 3)).toBe('ab');
  expect(storableText('ab🎉', 4)).toBe('ab🎉');
  expect(storableText('x'.repeat(2_000))).toHaveLength(1_000);
});

test.for([
  [new TypeError('a\u0000'), 'TypeError: a\uFFFD'],
  ['text', 'text'],
  [undefined, 'undefined'],
  [Symbol('x'), 'Symbol(x)'],
] as const)('anything thrown has a storable text (%#)', ([thrown, text]) => {
  expect(errorText(thrown)).toBe(text);
});

test('back-off stays within [0, min(cap, base · 2^attempt)), whatever the attempt', () => {
  fc.assert(
    fc.property(
      fc.nat(10_000),
      fc.integer({ min: 1, max: 10_000 }),
      fc.integer({ min: 1, max: 1_000_000 }),
      (attempt, baseMs, capMs) => {
        const most = Math.min(capMs, baseMs * 2 ** attempt);
        expect(fullJitterMs(attempt, { baseMs, capMs, random: () => 0 })).toBe(0);
        const longest = fullJitterMs(attempt, { baseMs, capMs, random: () => 1 - Number.EPSILON });
        expect(longest).toBeLessThanOrEqual(most);
        expect(longest).toBeGreaterThanOrEqual(most - 1);
        expect(Number.isInteger(longest)).toBe(true);
      },
    ),
  );
});

test('the longest wait of back-off never shrinks with the attempt, and never exceeds what a timer or an integer column holds', () => {
  const longest = (attempt: number, capMs: number) =>
    fullJitterMs(attempt, { baseMs: 5_000, capMs, random: () => 1 - Number.EPSILON });
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 2 ** 31 - 1 }), (one, more, capMs) => {
      expect(longest(one + more, capMs)).toBeGreaterThanOrEqual(longest(one, capMs));
      expect(longest(one + more, capMs)).toBeLessThanOrEqual(MAX_TIMER_MS);
    }),
  );
});

test('chunks are the items in order, none empty, none too long, all but the last full', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 10 }), (items, size) => {
      const pieces = chunk(items, size);
      expect(pieces.flat()).toEqual(items);
      expect(pieces.slice(0, -1).every((piece) => piece.length === size)).toBe(true);
      expect(pieces.every((piece) => piece.length > 0 && piece.length <= size)).toBe(true);
    }),
  );
});

test('groups keep every item once, under its key, in order, whatever the key is named', () => {
  const keys = fc.constantFrom('a', 'b', '__proto__', 'constructor', '');
  fc.assert(
    fc.property(fc.array(fc.tuple(keys, fc.integer())), (items) => {
      const groups = groupBy(items, ([key]) => key);
      for (const [key, group] of groups) expect(group).toEqual(items.filter(([of]) => of === key));
      expect([...groups.keys()]).toEqual([...new Set(items.map(([key]) => key))]);
    }),
  );
});

test.for([
  [new PoisonError('x'), 'poison'],
  [new PermanentError('x'), 'permanent'],
  [new TransientError('x'), 'transient'],
  [new Error('x'), 'transient'],
  ['text', 'transient'],
] as const)('what an error is tells what a consumer does (%#)', ([error, kind]) => {
  expect(failureKind(error)).toBe(kind);
});

test('an error keeps its name, cause and context', () => {
  const cause = new Error('deep');
  const error = new TransientError('not ready', { cause, context: { code: '40P01' }, retryAfterMs: 5 });
  expect(error).toMatchObject({
    name: 'TransientError',
    message: 'not ready',
    cause,
    context: { code: '40P01' },
    retryAfterMs: 5,
  });
  expect('cause' in new PermanentError('x')).toBe(false);
});

test('a sleep ends early and quietly when it is aborted, before or while it lasts', async () => {
  const started = performance.now();
  await sleep(60_000, AbortSignal.abort());
  await sleep(60_000, AbortSignal.timeout(10));
  expect(performance.now() - started).toBeLessThan(5_000);
});

test.for([2 ** 31, 1e15, Number.POSITIVE_INFINITY])(
  'a sleep of %d ms, more than a timer holds, does not end at once [SEM-009]',
  async (ms) => {
    const awake = new AbortController();
    let isOver = false;
    const sleeping = sleep(ms, awake.signal).then(() => {
      isOver = true;
    });
    await sleep(20);
    expect(isOver).toBe(false);
    awake.abort();
    await sleeping;
  },
);

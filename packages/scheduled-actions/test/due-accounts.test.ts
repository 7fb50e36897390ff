import { expect, test } from 'vitest';
import { accountKey, createDueAccounts } from '../src/due-accounts.ts';

const ACCOUNT = { lane: 1, lineOaId: '7' };
const KEY = accountKey(ACCOUNT);
const place = (at: number, id = '1') => ({ at, id });

/** A claimer's list, and the claims that it makes of one account. */
function claimer() {
  let now = 0;
  const list = createDueAccounts(() => now);
  list.scanned([{ ...ACCOUNT, oldest: 1_000 }]);
  const from = () => list.turn(500).accounts[0]?.from;
  const took = (last: { at: number; id: string } | undefined, { isFull = true, tookMs = 0, first = last } = {}) => {
    now += tookMs;
    const spans = new Map(last && first ? [[KEY, { first, last, count: 500 }]] : []);
    list.took({ spans, lateSeconds: 20, share: 500, isFull, wasCut: false });
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { list, from, took, pass };
}

/** One that has just claimed from the beginning, in so many milliseconds, and is at `at`. */
function claimerAt(at: number, tookMs: number) {
  const mine = claimer();
  expect(mine.from()).toBe(null);
  mine.took(place(at), { tookMs });
  return mine;
}

test('a full claim goes on at the very row where the last one ended', () => {
  const { from, took } = claimerAt(1_500, 5);
  expect(from()).toEqual(place(1_500));
  took(place(1_500, '999'));
  expect(from()).toEqual(place(1_500, '999'));
  took(place(1_500, '1000'));
  expect(from()).toEqual(place(1_500, '1000'));
});

test.for([
  ['each second while claims are full', () => undefined, 999],
  ['10 ms after the last one after a hint', ({ list }: ReturnType<typeof claimer>) => list.wake(), 9],
] as const)('it begins at the beginning %s', ([, prepare, stillMs]) => {
  const mine = claimerAt(1_500, 0);
  prepare(mine);
  mine.pass(stillMs);
  expect(mine.from()).not.toBe(null);
  mine.pass(1);
  expect(mine.from()).toBe(null);
});

test('it begins at the beginning before it says that there is nothing, and after each claim that came back short', () => {
  const { list, from, took, pass } = claimerAt(1_500, 5);
  pass(50);
  expect(from()).toEqual(place(1_500));
  expect(list.again()).toMatchObject([{ from: null }]);
  expect(list.again()).toBe(undefined);
  took(undefined, { isFull: false, tookMs: 1 });
  pass(9);
  expect(from()).toBe(null);
});

test.for([
  ['in claims that are full', () => undefined],
  ['after hints', ({ list }: ReturnType<typeof claimer>) => list.wake()],
  [
    'after claims that come back short',
    (mine: ReturnType<typeof claimer>) => {
      mine.from();
      mine.took(undefined, { isFull: false });
    },
  ],
] as const)('where that is slow it takes a tenth of the time, %s', ([, prepare]) => {
  const mine = claimerAt(1_500, 400);
  prepare(mine);
  mine.pass(3_590);
  expect(mine.from()).not.toBe(null);
  expect(mine.list.again()).toBe(undefined);
  mine.pass(10);
  expect(mine.from()).toBe(null);
});

test('where it fails it is tried again within a minute, and claims go on from where they were', () => {
  const { from, took, pass } = claimerAt(1_500, 5);
  pass(1_000);
  expect(from()).toBe(null);
  pass(10_000); // the statement timeout: nothing was taken
  expect(from()).toEqual(place(1_500));
  took(place(1_600));
  pass(49_999);
  expect(from()).toEqual(place(1_600));
  pass(1);
  expect(from()).toBe(null);
});

test('what a claim took that was rolled back is taken by the next one', () => {
  const { list, from, took } = claimerAt(1_500, 5);
  expect(from()).toEqual(place(1_500));
  took(place(1_700, '30'), { first: place(1_500, '20') });
  list.rolledBack();
  expect(from()).toEqual(place(1_500, '20'));
});

test('a short claim leaves room for what becomes visible late, and scans take it on', () => {
  const { list, from, took } = claimerAt(1_500, 5);
  from();
  took(place(1_600), { isFull: false });
  expect(from()).toEqual(place(1_580, '0'));
  took(undefined, { isFull: false });
  list.scanned([{ ...ACCOUNT, oldest: 1_900 }]);
  expect(from()).toEqual(place(1_900, '0'));
  list.scanned([{ ...ACCOUNT, oldest: 1_100 }]); // behind the place: left to the claims from the beginning
  expect(from()).toEqual(place(1_900, '0'));
});

test.for([
  ['leaves room', 1_000, 3_999],
  ['leaves no room for another claim', 4_800, 799],
  ['leaves none for its account', 2_100, 799],
] as const)(
  'where counting what is in processing is slow it is kept for a while, longer while it %s',
  ([, count, keptMs]) => {
    let now = 0;
    const list = createDueAccounts(() => now);
    const cap = { limit: 500, maxProcessing: 5_000 };
    expect(list.keptProcessing(cap)).toBe(undefined);
    now += 400;
    const counts = new Map([['7', count]]);
    list.countedProcessing(counts);
    now = keptMs;
    expect(list.keptProcessing(cap)).toBe(counts);
    now += 1;
    expect(list.keptProcessing(cap)).toBe(undefined);
  },
);

import type { Ticket } from '@dueline/contracts';
import { TransientError } from '@dueline/kernel';
import { expect, test } from 'vitest';
import { createGate } from '../src/gate.ts';
import { decideAndConclude } from '../src/split.ts';

const tickets: Ticket[] = ['1', '2', '3', '4'].map((id) => ({ id, fence: '1' }));
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Decides so; the first of a lot that is too large is not decided, and what is concluded throws if it is said to. */
function work(options: { last?: () => never; concludes: boolean }) {
  const logged: string[] = [];
  const decided: string[] = [];
  const committed = decideAndConclude<Ticket, { ids: string[]; setAside: Ticket[] }>(tickets, {
    gate: createGate(),
    alone: false,
    log: { error: (_fields, message) => logged.push(message) },
    decide: async (some) => {
      if (some.length > 2) throw new Error('one of them spoils the lot');
      await nextTurn(); // what was concluded of the ones before has ended by now
      if (some[0]?.id === '3') options.last?.();
      decided.push(...some.map(({ id }) => id));
      return { ids: some.map(({ id }) => id), setAside: [] };
    },
    idsOf: ({ ids }) => ids,
    conclude: async () => {
      if (!options.concludes) throw new TypeError('a counter that nobody has');
    },
    onFailure: async () => expect.unreachable(),
  });
  return { committed, decided, logged };
}

test('what follows from decided rows and fails is logged and left to the sweep: the rows were decided, and the process lives', async () => {
  const { committed, logged } = work({ concludes: false });
  expect([...(await (await committed).ids)]).toEqual(['1', '2', '3', '4']);
  expect(logged).toHaveLength(2);
});

test('so it is when the rows after them cannot be decided now, and their message comes again', async () => {
  const last = () => {
    throw new TransientError('the database restarts');
  };
  const { committed, decided, logged } = work({ last, concludes: false });
  await expect(committed).rejects.toThrow('the database restarts');
  await nextTurn();
  expect(decided).toEqual(['1', '2']);
  expect(logged).toHaveLength(1);
});

test.for([
  ['an outage goes to nobody, and is tried again', '57P01', []],
  ['a row that takes too long by itself goes to whoever counts its tries', '57014', ['3']],
] as const)('%s', async ([, code, expected]) => {
  const failed: string[] = [];
  const error = new TransientError('database not ready', { context: { code } });
  const committed = decideAndConclude<Ticket, { ids: string[]; setAside: Ticket[] }>(tickets, {
    ...{ gate: createGate(), alone: false, log: { error: () => undefined } },
    decide: async (some) => {
      if (some.some(({ id }) => id === '3')) throw error;
      return { ids: some.map(({ id }) => id), setAside: [] };
    },
    ...{ idsOf: ({ ids }) => ids, conclude: async () => undefined },
    onFailure: async ({ id }) => void failed.push(id),
  });
  if (expected.length === 0) await expect(committed).rejects.toBe(error);
  else expect([...(await (await committed).ids)]).toEqual(['1', '2', '4']);
  expect(failed).toEqual(expected);
});

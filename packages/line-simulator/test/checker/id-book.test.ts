import { expect, test } from 'vitest';
import { createIdBook, createWordTable, USER_ID, UUID } from '../../src/checker/id-book.ts';
import { key, user } from '../support.ts';

test.each([
  ['user ids', USER_ID, user],
  ['UUIDs', UUID, key],
  ['ids of any other shape', UUID, (n: number) => `order ${n} é`],
] as const)('%s keep their numbers and their names, ten thousand of them', (_name, shape, id) => {
  const book = createIdBook(shape);
  const ids = Array.from({ length: 10_000 }, (_, n) => id(n));
  expect(ids.map((one) => book.intern(one))).toEqual(ids.map((_, n) => n + 1));
  expect(ids.map((one) => book.find(one))).toEqual(ids.map((_, n) => n + 1));
  expect(ids.map((_, n) => book.name(n + 1))).toEqual(ids);
  expect(book.find(id(10_000))).toBe(0);
  expect(book.size).toBe(10_000);
});

test('a UUID in capitals is the same, and a user id in capitals is another', () => {
  const keys = createIdBook(UUID);
  expect(keys.intern('DC0C9433-63D6-8F8B-A3A4-9EE5D108B038')).toBe(keys.intern('dc0c9433-63d6-8f8b-a3a4-9ee5d108b038'));
  const users = createIdBook(USER_ID);
  const capitals = user(10).toUpperCase();
  expect(users.intern(capitals)).not.toBe(users.intern(user(10)));
  expect([users.name(1), users.name(2)]).toEqual([capitals, user(10)]);
});

test('keys that differ in any one word are told apart', () => {
  const table = createWordTable();
  const keys = [0, 1, 2, 3].map((place) => new Uint32Array(4).fill(7).fill(8, place, place + 1));
  expect(keys.map((words) => table.intern(words))).toEqual([1, 2, 3, 4]);
  expect(keys.map((words) => table.find(words))).toEqual([1, 2, 3, 4]);
  expect(table.find(new Uint32Array(4))).toBe(0);
});

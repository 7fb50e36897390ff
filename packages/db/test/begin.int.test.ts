import { type Database, inTransaction, openDatabase, type SQL, sql, type Tx } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let own: TestDb;
let single: Database;
beforeAll(async () => {
  own = await testDb();
  await own.db.$client.query('create table made (n int)');
});
beforeEach(async () => {
  await own.db.$client.query('truncate made');
  single = openDatabase({ url: own.url, applicationName: 'begin', maxConnections: 1, onError: () => undefined });
  await inTransaction(single.db, (tx) => tx.execute(sql`select 1`)); // from the second transaction on
  return () => single.close();
});
afterAll(() => own[Symbol.asyncDispose]());

const made = () => columnOf(own.db, 'select n from made order by n');
const FIRST: [string, SQL][] = [
  ['with values', sql`insert into made values (${1}::int) returning n`],
  ['without', sql`insert into made values (1) returning n`],
];

test.for(FIRST)('a first statement %s is in its transaction: undone with it, kept with it', async ([, first]) => {
  const work = (end: (tx: Tx) => Promise<unknown>) =>
    inTransaction(single.db, async (tx) => {
      expect((await tx.execute(first)).rows).toEqual([{ n: 1 }]);
      expect(await made()).toEqual([]);
      await end(tx);
    });
  await expect(work(() => Promise.reject(new Error('undo')))).rejects.toThrow('undo');
  expect(await made()).toEqual([]);
  await work((tx) => tx.execute(sql`insert into made values (${2}::int)`));
  expect(await made()).toEqual(['1', '2']);
});

test.for(FIRST)('a first statement %s that fails leaves a connection that goes on', async ([, first]) => {
  for (const failing of [sql`select ${1}::int / 0`, sql`select 1 / 0`])
    await expect(inTransaction(single.db, (tx) => tx.execute(failing))).rejects.toThrow('division by zero');
  await inTransaction(single.db, (tx) => tx.execute(first));
  expect(await made()).toEqual(['1']);
});

test('a transaction that says nothing, or throws before it does, leaves nothing open', async () => {
  await inTransaction(single.db, async () => undefined);
  await expect(inTransaction(single.db, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  await single.db.execute(sql`insert into made values (${1}::int)`);
  expect(await made()).toEqual(['1']);
});

test('where BEGIN fails, its first statement is not run without it', async () => {
  await single.db.execute(sql`deallocate dueline_begin`);
  await expect(
    inTransaction(single.db, (tx) => tx.execute(sql`insert into made values (${1}::int)`)),
  ).rejects.toMatchObject({ code: '26000' });
  expect(await made()).toEqual([]);
});

test('a savepoint may come first', async () => {
  await inTransaction(single.db, async (tx) => {
    const undone = tx.transaction(async (savepoint) => {
      await savepoint.execute(sql`insert into made values (${1}::int)`);
      throw new Error('undo');
    });
    await expect(undone).rejects.toThrow('undo');
    await tx.execute(sql`insert into made values (${2}::int)`);
  });
  expect(await made()).toEqual(['2']);
});

import { given, inTransaction, sql, statement } from '@dueline/db';
import { type TestDb, testDb } from '@dueline/db/testing';
import { TransientError } from '@dueline/kernel';
import { afterAll, beforeAll, expect, test } from 'vitest';

let own: TestDb;
beforeAll(async () => {
  own = await testDb();
});
afterAll(() => own[Symbol.asyncDispose]());

const area = statement<{ area: number; text: string }, { height: number; width: number; unit: string }>(
  sql`select ${given('width')}::int * ${given('height')}::int as area, ${given('width')}::int || ${given('unit')}::text as text`,
);

test('values go where they are named, whatever their order, as often as they are named', async () => {
  expect(await area(own.db, { height: 3, width: 2, unit: 'm' })).toEqual([{ area: 6, text: '2m' }]);
  const { rows } = await own.db.execute<{ statement: string }>(
    sql`select statement from pg_prepared_statements where statement like '%as area%'`,
  );
  expect(rows.map((row) => row.statement)).toEqual(['select $1::int * $2::int as area, $1::int || $3::text as text']);
});

test('an array is one value, null is null, and instants come back with microseconds', async () => {
  const read = statement<{ ids: string; none: null; at: string }, { ids: string[]; none: null }>(
    sql`select ${given('ids')}::bigint[]::text as ids, ${given('none')}::text as none, timestamptz '2026-05-01 12:00:00.123456Z' as at`,
  );
  expect(await read(own.db, { ids: ['1', '9007199254740993'], none: null })).toEqual([
    { ids: '{1,9007199254740993}', none: null, at: '2026-05-01 12:00:00.123456+00' },
  ]);
});

test('in a transaction, and within a savepoint of it, it sees what that wrote and is undone with it', async () => {
  const add = statement<{ n: number }, { n: number }>(
    sql`insert into made (n) values (${given('n')}::int) returning n`,
  );
  await own.db.execute(sql`create table made (n int)`);
  const undone = inTransaction(own.db, async (tx) => {
    expect(await add(tx, { n: 1 })).toEqual([{ n: 1 }]);
    await tx.transaction(async (savepoint) => void (await add(savepoint, { n: 2 })));
    expect((await tx.execute(sql`select n from made order by n`)).rows).toEqual([{ n: 1 }, { n: 2 }]);
    throw new Error('undo');
  });
  await expect(undone).rejects.toThrow('undo');
  expect((await own.db.execute(sql`select n from made`)).rows).toEqual([]);
});

test('errors are those of other statements: a transient one says so, and a deadlock in a transaction runs it again', async () => {
  const fail = statement<never, { code: string }>(sql`select fail_with(${given('code')}::text)`);
  await own.db.execute(sql`
    create function fail_with(code text) returns void language plpgsql as $$ begin raise exception 'no' using errcode = code; end $$`);
  await expect(fail(own.db, { code: '57014' })).rejects.toThrow(TransientError);
  await expect(fail(own.db, { code: 'DL001' })).rejects.toMatchObject({ code: 'DL001', message: 'no' });
  let tries = 0;
  const work = inTransaction(own.db, async (tx) => {
    tries += 1;
    if (tries === 1) await fail(tx, { code: '40P01' });
  });
  await work;
  expect(tries).toBe(2);
});

test('a value without a name, and a name without a value, are refused', async () => {
  await expect(statement<never, Record<string, never>>(sql`select ${1}::int`)(own.db, {})).rejects.toThrow('no name');
  const lacking = statement<never, Record<string, number>>(sql`select ${given('n')}::int`);
  await expect(lacking(own.db, {})).rejects.toThrow('without its value "n"');
});

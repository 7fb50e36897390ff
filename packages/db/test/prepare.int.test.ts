import { openDatabase, sql } from '@dueline/db';
import { testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';

test('a statement with parameters is prepared once per connection, by its text; others and other texts are not mixed up', async () => {
  await using own = await testDb();
  const single = openDatabase({
    url: own.url,
    applicationName: 'prepare',
    maxConnections: 1,
    onError: () => undefined,
  });
  try {
    const add = async (left: number, right: number) =>
      (await single.db.execute<{ sum: number }>(sql`select ${left}::int + ${right}::int as sum`)).rows[0]?.sum;
    expect([await add(1, 2), await add(3, 4), await add(5, 6)]).toEqual([3, 7, 11]);
    expect((await single.db.execute(sql`select ${1}::int * ${2}::int as product`)).rows).toEqual([{ product: 2 }]);
    await single.db.execute(sql`select 1`);

    const { rows } = await single.db.execute<{ statement: string; used: string }>(
      sql`select statement, generic_plans + custom_plans as used from pg_prepared_statements order by statement`,
    );
    expect(rows).toEqual([
      { statement: 'select $1::int * $2::int as product', used: '1' },
      { statement: 'select $1::int + $2::int as sum', used: '3' },
    ]);
  } finally {
    await single.close();
  }
});

test('a statement that fails is prepared again and works the next time', async () => {
  await using own = await testDb();
  const single = openDatabase({
    url: own.url,
    applicationName: 'prepare',
    maxConnections: 1,
    onError: () => undefined,
  });
  try {
    const divide = (by: number) => single.db.execute<{ part: number }>(sql`select 6 / ${by}::int as part`);
    await expect(divide(0)).rejects.toThrow('division by zero');
    expect((await divide(2)).rows).toEqual([{ part: 3 }]);
    await expect(single.db.execute(sql`select ${1}::int from no_such_table`)).rejects.toThrow('does not exist');
    await single.db.execute(sql`create table no_such_table as select 1`);
    expect((await single.db.execute(sql`select ${1}::int from no_such_table`)).rows).toHaveLength(1);
  } finally {
    await single.close();
  }
});

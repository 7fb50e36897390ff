import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { migrate } from '@dueline/db';
import { testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';

test('a migration whose table somebody holds gives way to all others, and is applied once the table is free', async () => {
  await using empty = await testDb({ empty: true });
  const folder = pathToFileURL(`${await mkdtemp(join(tmpdir(), 'migrations-'))}/`);
  const file = (name: string, sql: string) => writeFile(new URL(name, folder), sql);
  const told: string[] = [];
  const run = () => migrate({ url: empty.url, folder, log: (line) => told.push(line) });
  await file('0001_first.sql', 'create table first (id int)');
  await run();

  const holder = await empty.db.$client.connect();
  try {
    await holder.query('begin; lock table first in access share mode');
    await file('0002_second.sql', 'alter table first add column note text');
    const migrating = run();
    await expect
      .poll(async () => (await empty.db.$client.query(`select from pg_locks where not granted`)).rowCount)
      .toBeGreaterThan(0);
    await empty.db.$client.query('insert into first (id) values (1)'); // it waits behind the migration, which gives way
    await expect.poll(() => told).toContain('0002_second.sql gave way to who holds its tables, and tries again');
    await holder.query('commit');
    expect(await migrating).toEqual(['0002_second.sql']);
    expect((await empty.db.$client.query('select id, note from first')).rows).toEqual([{ id: 1, note: null }]);
  } finally {
    holder.release();
    await rm(folder, { recursive: true });
  }
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { migrate, missingMigrations } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { PermanentError, TransientError } from '@dueline/kernel';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

let empty: TestDb;
let folder: URL;
beforeEach(async () => {
  empty = await testDb({ empty: true });
  folder = pathToFileURL(`${await mkdtemp(join(tmpdir(), 'migrations-'))}/`);
});
afterEach(async () => {
  await empty[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const file = (name: string, sql: string) => writeFile(new URL(name, folder), sql);
const run = () => migrate({ url: empty.url, folder });
const ledger = () => columnOf(empty.db, 'select name from schema_migration order by name');

test.for([2, 5])('of %i migrators at once one applies each file, the others find nothing to do', async (count) => {
  const missing = await missingMigrations(empty.db.$client);
  const applied = await Promise.all(Array.from({ length: count }, () => migrate({ url: empty.url })));
  expect(applied.map((names) => names.length).sort()).toEqual([...Array(count - 1).fill(0), missing.length]);
  expect(applied.flat()).toEqual(missing);
  expect(await ledger()).toEqual(missing);
  expect(await missingMigrations(empty.db.$client)).toEqual([]);
});

test('databases of one cluster may be migrated at the same moment', async () => {
  await using other = await testDb({ empty: true });
  await Promise.all([empty, other].map(({ url }) => migrate({ url })));
  expect(await missingMigrations(other.db.$client)).toEqual([]);
});

test('a migrator that is killed within a file leaves whole files only, and a rerun converges', async () => {
  await file('0001_first.sql', 'create table first (id int)');
  await file('0002_slow.sql', 'create table second (id int); select pg_sleep(30); create table third (id int)');
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('./migrate-child.ts', import.meta.url)), empty.url, folder.href],
    {
      stdio: 'inherit',
    },
  );
  await vi.waitFor(async () => {
    const sleeping = await columnOf(
      empty.db,
      `select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
    );
    expect(sleeping).toHaveLength(1);
  }, 10_000);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await ledger()).toEqual(['0001_first.sql']);
  expect(await columnOf(empty.db, `select to_regclass('second')`)).toEqual([null]);

  await empty.db.$client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
  );
  await file('0002_slow.sql', 'create table second (id int); create table third (id int)');
  expect(await run()).toEqual(['0002_slow.sql']);
  expect(await run()).toEqual([]);
});

test('a file that fails leaves nothing of itself and names what went wrong', async () => {
  await file('0001_first.sql', 'create table first (id int)');
  await file('0002_broken.sql', 'create table second (id int); select * from nowhere');
  await expect(run()).rejects.toThrow('nowhere');
  expect(await ledger()).toEqual(['0001_first.sql']);
  expect(await columnOf(empty.db, `select to_regclass('second')`)).toEqual([null]);
});

test('a file marked so runs outside a transaction', async () => {
  await file('0001_first.sql', 'create table first (id int)');
  await file('0002_index.sql', '-- no transaction\ncreate index concurrently on first (id)');
  expect(await run()).toHaveLength(2);
});

test.for([
  ['changed', '0002_b.sql', async () => file('0002_b.sql', 'select 3')],
  ['inserted before it', '0002_b.sql', async () => file('0001_c.sql', 'select 3')],
  ['removed', '0002_b.sql', async () => rm(new URL('0002_b.sql', folder))],
] as const)('a ledger whose file was %s is refused by name', async ([, name, meddle]) => {
  await file('0001_a.sql', 'select 1');
  await file('0002_b.sql', 'select 2');
  await run();
  await meddle();
  const refused = await run().then(
    () => undefined,
    (error) => error,
  );
  expect(refused).toBeInstanceOf(PermanentError);
  expect(Object.values(refused.context)).toContain(name);
});

test('a database that is not there is transient', async () => {
  const url = new URL(empty.url);
  url.port = '1';
  await expect(migrate({ url: url.href, folder })).rejects.toBeInstanceOf(TransientError);
});

import { connect, createServer, type Socket } from 'node:net';
import { inTransaction, openDatabase, sql } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { PermanentError, TransientError } from '@dueline/kernel';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

let shared: TestDb;
beforeAll(async () => {
  shared = await testDb();
  await shared.db.$client.query('create table account (id int primary key, balance int not null)');
});
afterAll(() => shared[Symbol.asyncDispose]());

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test('of two transactions that deadlock both commit, because one is run again [SEM-052, SEM-054]', async () => {
  await shared.db.$client.query('truncate account; insert into account values (1, 0), (2, 0)');
  let runs = 0;
  let holders = 0;
  const bothHold = Promise.withResolvers<void>();
  const add = (first: number, second: number) =>
    inTransaction(shared.db, async (tx) => {
      runs += 1;
      await tx.execute(sql`update account set balance = balance + 1 where id = ${first}`);
      holders += 1;
      if (holders === 2) bothHold.resolve();
      await bothHold.promise;
      await tx.execute(sql`update account set balance = balance + 1 where id = ${second}`);
    });
  await Promise.all([add(1, 2), add(2, 1)]);
  expect(runs).toBe(3);
  expect(await columnOf(shared.db, 'select balance from account order by id')).toEqual(['2', '2']);
});

test('a deadlock that never ends is given up after three repeats, as transient', async () => {
  let runs = 0;
  const error = await thrownBy(
    inTransaction(shared.db, async (tx) => {
      runs += 1;
      await tx.execute(sql`do $$ begin raise exception 'again' using errcode = '40P01'; end $$`);
    }),
  );
  expect(runs).toBe(4);
  expect(error).toBeInstanceOf(TransientError);
});

test.for([
  ['between two statements', sql`select 1`],
  ['within a statement', sql`select pg_sleep(5)`],
] as const)('a backend that is killed %s makes a transient error, and the pool goes on', async ([, last]) => {
  const error = await thrownBy(
    inTransaction(shared.db, async (tx) => {
      const { rows } = await tx.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
      const kill = shared.db.$client.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await Promise.all([kill, tx.execute(last)]);
      await tx.execute(sql`select 1`);
    }),
  );
  expect(error).toBeInstanceOf(TransientError);
  expect(await inTransaction(shared.db, (tx) => tx.execute(sql`select 1`))).toMatchObject({ rowCount: 1 });
});

test("what the work throws comes out as it is, and nothing of the work's rows stays", async () => {
  await shared.db.$client.query('truncate account');
  const mine = new PermanentError('my own');
  const error = await thrownBy(
    inTransaction(shared.db, async (tx) => {
      await tx.execute(sql`insert into account values (1, 1)`);
      throw mine;
    }),
  );
  expect(error).toBe(mine);
  expect(await columnOf(shared.db, 'select count(*) from account')).toEqual(['0']);
});

test('a constraint that fails is told by the database, never with the parameters', async () => {
  const error = await thrownBy(
    inTransaction(shared.db, async (tx) => {
      const { organizationId } = await insertTenant(shared.db);
      await tx.execute(
        sql`insert into line_oa (organization_id, channel_id, name) values (${organizationId}, 'secret-channel', 'secret-name')`,
      );
    }),
  );
  expect(error).toMatchObject({ code: '23514' });
  expect(String(error)).not.toContain('secret');
  expect(JSON.stringify(Object.getOwnPropertyNames(error))).not.toContain('params');
});

test('a statement that takes too long is transient', async () => {
  const error = await thrownBy(
    inTransaction(shared.db, async (tx) => {
      await tx.execute(sql`set local statement_timeout = 50`);
      await tx.execute(sql`select pg_sleep(5)`);
    }),
  );
  expect(error).toBeInstanceOf(TransientError);
});

/** A way to the server that lets the first connection in and then swallows its first `begin`. */
async function lossyProxy(target: URL) {
  const sockets = new Set<Socket>();
  let swallowing = true;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => [near, far].map((each) => each.destroy()));
    }
    near.on('data', (bytes) => {
      if (swallowing && bytes.includes('begin')) near.destroy();
      else far.write(bytes);
    });
    far.pipe(near);
  }).listen(0, '127.0.0.1');
  await vi.waitFor(() => expect(server.address()).not.toBeNull(), 15_000);
  const address = server.address();
  const url = new URL(target);
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0);
  return {
    url: url.href,
    letThrough: () => {
      swallowing = false;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('a connection that is lost at BEGIN does not cost the pool its place', async () => {
  const proxy = await lossyProxy(new URL(shared.url));
  const database = openDatabase({
    url: proxy.url,
    applicationName: 'test',
    maxConnections: 1,
    onError: () => undefined,
  });
  try {
    for (let time = 0; time < 3; time += 1) {
      expect(await thrownBy(inTransaction(database.db, (tx) => tx.execute(sql`select 1`)))).toBeInstanceOf(
        TransientError,
      );
    }
    proxy.letThrough();
    expect(await inTransaction(database.db, (tx) => tx.execute(sql`select 1`))).toMatchObject({ rowCount: 1 });
  } finally {
    await database.close();
    proxy.close();
  }
});

test('a database that is not there is transient, for a ping and a transaction', async () => {
  const url = new URL(shared.url);
  url.port = '1';
  const database = openDatabase({
    url: url.href,
    applicationName: 'test',
    maxConnections: 1,
    onError: () => undefined,
  });
  expect(await thrownBy(database.ping())).toBeInstanceOf(TransientError);
  expect(await thrownBy(inTransaction(database.db, (tx) => tx.execute(sql`select 1`)))).toBeInstanceOf(TransientError);
  await database.close();
});

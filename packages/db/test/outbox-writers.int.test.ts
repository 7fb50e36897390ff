import { setTimeout as delay } from 'node:timers/promises';
import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, insertUsers, type TestDb, testDb } from '@dueline/db/testing';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  shared = await testDb();
});
beforeEach(async () => {
  tenant = await insertTenant(shared.db);
  await insertUsers(shared.db, tenant, 2);
});
afterAll(() => shared[Symbol.asyncDispose]());

const change = (client: { query: pg.Client['query'] }, value: number, user = 1) =>
  client.query(`update public.line_user set attributes = $2 where line_oa_id = $1 and user_id like $3`, [
    tenant.lineOaId,
    { a: value },
    `%${user}`,
  ]);

const eventCount = async () =>
  Number((await columnOf(shared.db, 'select count(*) from event_outbox where line_oa_id = $1', [tenant.lineOaId]))[0]);

async function withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: shared.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

test.for(['read committed', 'repeatable read', 'serializable'])(
  'a writer in %s is not failed by what others wrote since its snapshot',
  async (level) => {
    await withClient(async (client) => {
      await client.query(`begin isolation level ${level}`);
      await client.query('select 1 from line_user limit 1');
      await delay(12); // so that the gate of NOTIFY is open again
      await change(shared.db.$client, 1, 2);
      await change(client, 1, 1);
      await client.query('commit');
    });
    expect(await eventCount()).toBe(2);
  },
);

test('changes of one person by two writers are told in the order of their commits, though the second began before the first committed', async () => {
  await withClient(async (first) => {
    await withClient(async (second) => {
      await first.query('begin');
      await change(first, 1);
      const waits = second.query(`update line_user set attributes = attributes || '{"b": 2}' where line_oa_id = $1`, [
        tenant.lineOaId,
      ]);
      await expect
        .poll(
          () => columnOf(shared.db, `select count(*) from pg_locks where not granted and locktype = 'transactionid'`),
          {
            timeout: 20_000,
          },
        )
        .not.toEqual(['0']);
      await first.query('commit');
      await waits;
    });
  });
  const keys = await columnOf(
    shared.db,
    `select jsonb_object_keys(payload -> 'changed') from event_outbox where line_oa_id = $1 and user_id like '%1' order by id`,
    [tenant.lineOaId],
  );
  expect(keys).toEqual(['a', 'b']);
});

test('a session that changed single people before changes a crowd in time that grows with the crowd, not with its square', async () => {
  const CROWD = 10_000;
  await insertUsers(shared.db, await insertTenant(shared.db), CROWD);
  await withClient(async (client) => {
    for (let value = 0; value < 8; value += 1) await change(client, value); // the server keeps its plan from the sixth on
    await client.query(`set statement_timeout = '25s'`); // seconds at most; of the square, minutes
    const { rowCount } = await client.query(`update line_user set attributes = '{"crowd": 1}'`);
    expect(rowCount).toBeGreaterThanOrEqual(CROWD);
  });
}, 60_000);

test('the feed plans its statements once, whoever defined it last: a session that wrote a crowd would plan for each person after it', async () => {
  const settings = await columnOf(
    shared.db,
    `select array_to_string(proconfig, ' ') from pg_proc where proname in ('record_inserted_attributes', 'record_updated_attributes')`,
  );
  expect(settings).toEqual(Array(2).fill(expect.stringContaining('plan_cache_mode=force_generic_plan')));
});

test('a writer whose search path lacks our schema is not failed', async () => {
  await withClient(async (client) => {
    await client.query(`create schema if not exists elsewhere; set search_path = elsewhere`);
    await change(client, 1);
  });
  expect(await eventCount()).toBe(1);
});

test.for(['event_outbox', 'attribute_change', 'notify_gate'])(
  "a writer's temporary table named %s diverts nothing",
  async (table) => {
    await withClient(async (client) => {
      await client.query(`create temp table ${table} (like public.${table} including defaults)`);
      await change(client, 1);
    });
    expect(await eventCount()).toBe(1);
  },
);

test('a writer without any right on the outbox is not failed', async () => {
  await withClient(async (client) => {
    await client.query(`
      do $$ begin create role foreign_writer nologin bypassrls; exception when duplicate_object then null; end $$;
      grant select, update on line_user to foreign_writer;
      set role foreign_writer`);
    await change(client, 1);
  });
  expect(await eventCount()).toBe(1);
});

test.for([
  [
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ],
  ['not a trace', null],
  ['x'.repeat(10_000), null],
] as const)('a trace of the writer is kept when it is one (%#)', async ([traceparent, kept]) => {
  await withClient(async (client) => {
    await client.query(`select set_config('app.traceparent', $1, false)`, [traceparent]);
    await change(client, 1);
  });
  expect(
    await columnOf(shared.db, 'select traceparent from event_outbox where line_oa_id = $1', [tenant.lineOaId]),
  ).toEqual([kept]);
});

test('a burst of statements sends few notifications, and the first of them at once', async () => {
  await withClient(async (listener) => {
    let heard = 0;
    listener.on('notification', () => {
      heard += 1;
    });
    await listener.query('listen event_outbox');
    await delay(12);
    const started = performance.now();
    for (let value = 1; value <= 200; value += 1) await change(shared.db.$client, value);
    const elapsedMs = performance.now() - started;
    await vi.waitFor(() => expect(heard).toBeGreaterThan(0), 15_000);
    await listener.query('select 1');
    expect(heard).toBeLessThanOrEqual(Math.ceil(elapsedMs / 10) + 1);
  });
  expect(await eventCount()).toBe(200);
});

test('a second writer is not blocked while the first holds the gate in an open transaction', async () => {
  await delay(12);
  await withClient(async (first) => {
    await first.query('begin');
    await change(first, 1, 1);
    await withClient(async (second) => {
      await second.query(`set statement_timeout = '2s'`);
      await change(second, 1, 2);
    });
    await first.query('commit');
  });
  expect(await eventCount()).toBe(2);
});

import type { Tenant } from '@dueline/contracts';
import { announceEvents } from '@dueline/db/changes';
import { columnOf, insertRow, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  shared = await testDb();
});
beforeEach(async () => {
  tenant = await insertTenant(shared.db);
  await shared.db.$client.query('truncate event_outbox, attribute_change, custom_event; delete from line_user');
});
afterAll(() => shared[Symbol.asyncDispose]());

const query = (text: string, values: unknown[] = []) =>
  shared.db.$client.query(text.replaceAll('$org', tenant.organizationId).replaceAll('$oa', tenant.lineOaId), values);
const eventCount = async () => Number((await columnOf(shared.db, 'select count(*) from event_outbox'))[0]);
const customEvent = (payload: string) =>
  query(
    `insert into custom_event (organization_id, line_oa_id, user_id, name, payload, idempotency_key)
     values ($org, $oa, '${lineUserId(1)}', 'purchase', $1, gen_random_uuid())`,
    [payload],
  );

async function withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: shared.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const KEPT: [what: string, payload: string][] = [
  ['nothing', '{}'],
  ['9,000 letters, more than a notification holds', JSON.stringify({ note: 'x'.repeat(9_000) })],
  ['2,667 letters of 8,001 bytes', JSON.stringify({ note: 'ก'.repeat(2_667) })],
  ['emoji', '{"🛒": "👨‍👩‍👧"}'],
  ['Thai and Japanese', '{"สินค้า": "お茶"}'],
  ['names that every object has', '{"__proto__": {"a": 1}, "constructor": 1, "": null}'],
  ['numbers that JavaScript has not', '{"a": 1e400, "b": 12345678901234567890.123}'],
  ['500 lists in each other', `{"a": ${'['.repeat(500)}${']'.repeat(500)}}`],
  ['almost 64 KiB', JSON.stringify({ note: 'x'.repeat(65_500) })],
];

test.for(KEPT)(
  'a custom event may say %s, and is one event that says its name [SEM-089, SEM-090]',
  async ([, payload]) => {
    await customEvent(payload);
    const [found] = await columnOf(shared.db, `select payload = $1::jsonb from custom_event`, [payload]);
    expect(found).toBe('true');
    expect(await columnOf(shared.db, `select (payload - 'id')::text from event_outbox`)).toEqual([
      '{"name": "purchase"}',
    ]);
  },
);

test.for([
  ['NUL', '{"a": "x\\u0000"}', '22P05'],
  ['half a character', '{"a": "\\ud800"}', '22P02'],
  ['a list', '[]', '23514'],
  ['more than 64 KiB', JSON.stringify({ note: 'x'.repeat(66_000) }), '23514'],
  ['more than 64 KiB of few letters', JSON.stringify({ note: 'ก'.repeat(22_000) }), '23514'],
] as const)('a custom event that says %s is refused to its writer, and leaves no event', async ([, payload, code]) => {
  await expect(customEvent(payload)).rejects.toMatchObject({ code });
  expect(await eventCount()).toBe(0);
});

test.for(['', 'Purchase', '9lives', 'cart abandoned', 'ซื้อ', 'a'.repeat(65)])(
  'a custom event is not named %j',
  async (name) => {
    const row = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: lineUserId(1) };
    await expect(insertRow(shared.db, 'custom_event', { ...row, name, idempotency_key: 'k' })).rejects.toMatchObject({
      code: '23514',
    });
  },
);

const COLUMNS = '(organization_id, line_oa_id, user_id, name, idempotency_key)';
const rows = (...keys: string[]) =>
  keys.map((key, at) => `($org, $oa, '${lineUserId(at + 1)}', 'cart', '${key}')`).join();

test.for([
  ['INSERT of three', `insert into custom_event ${COLUMNS} values ${rows('a', 'b', 'c')}`, 3],
  [
    'INSERT of one that is known',
    `insert into custom_event ${COLUMNS} values ${rows('known', 'b')} on conflict do nothing`,
    1,
  ],
  [
    'MERGE',
    `merge into custom_event as old using (values ('known'), ('b')) as new (key) on old.line_oa_id = $oa and old.idempotency_key = new.key
     when not matched then insert ${COLUMNS} values ($org, $oa, '${lineUserId(2)}', 'cart', new.key)`,
    1,
  ],
  ['INSERT … SELECT of nothing', `insert into custom_event ${COLUMNS} select $org, $oa, 'x', 'y', 'z' where false`, 0],
  ['DELETE', `delete from custom_event`, 0],
  ['TRUNCATE', `truncate custom_event`, 0],
] as const)('%s makes one event for each new fact', async ([, statement, expected]) => {
  await query(`insert into custom_event ${COLUMNS} values ${rows('known')}`);
  await query('truncate event_outbox');
  await query(statement);
  expect(await eventCount()).toBe(expected);
});

test('COPY makes events as INSERT does', async () => {
  await withClient(async (client) => {
    const line = `${tenant.organizationId}\\t${tenant.lineOaId}\\t${lineUserId(1)}\\tcart\\tkey`;
    await client.query(`copy custom_event ${COLUMNS} from program 'printf "${line}\\n"'`);
  });
  expect(await columnOf(shared.db, `select topic || ' ' || (payload ->> 'name') from event_outbox`)).toEqual([
    'custom_event cart',
  ]);
});

test.for(['custom_event', 'line_user'])(
  'a writer that replays what happened elsewhere makes no events of %s',
  async (table) => {
    await withClient(async (client) => {
      await client.query(`set session_replication_role = replica`);
      const [columns, values] =
        table === 'custom_event'
          ? [COLUMNS, rows('a')]
          : ['(organization_id, line_oa_id, user_id, attributes)', `($org, $oa, '${lineUserId(1)}', '{"a": 1}')`];
      const text = `insert into ${table} ${columns} values ${values}`;
      await client.query(text.replaceAll('$org', tenant.organizationId).replaceAll('$oa', tenant.lineOaId));
    });
    expect(await eventCount()).toBe(0);
  },
);

test('a table of people that is emptied makes no events', async () => {
  await insertUsers(shared.db, tenant, 2);
  await query(`update line_user set attributes = '{"a": 1}'`);
  await query('truncate event_outbox');
  await query('truncate line_user cascade');
  expect(await eventCount()).toBe(0);
});

/** `node packages/db/bench/bulk.ts` does the same for 200,000. */
const BULK = 5_000;

test.for([
  ['attributes', `update line_user set attributes = '{"a": 1}' where line_oa_id = $oa`],
  [
    'custom events',
    `insert into custom_event ${COLUMNS} select organization_id, line_oa_id, user_id, 'cart', user_id from line_user where line_oa_id = $oa`,
  ],
] as const)(
  'one statement over 5,000 people writes %s with one notification, and drains in batches',
  async ([, statement]) => {
    await insertUsers(shared.db, tenant, BULK);
    await withClient(async (listener) => {
      let heard = 0;
      listener.on('notification', () => {
        heard += 1;
      });
      await listener.query('listen event_outbox');
      await query(statement);
      await listener.query('select 1'); // what was sent before has come by now
      await expect.poll(() => heard).toBe(1);
    });
    const batches: number[] = [];
    for (let left = BULK; left > 0; ) {
      const tickets = await announceEvents(shared.db, { limit: 1_000, leaseSeconds: 60, maxPublished: BULK });
      if (tickets.length === 0) throw new Error(`${left} events are never announced`);
      batches.push(tickets.length);
      left -= tickets.length;
    }
    expect(Math.max(...batches)).toBeLessThanOrEqual(1_000);
    expect(await columnOf(shared.db, 'select distinct bulk::text || status from event_outbox')).toEqual([
      'truepublished',
    ]);
  },
);

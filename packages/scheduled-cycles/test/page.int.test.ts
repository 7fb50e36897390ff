import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, type Tx } from '@dueline/db';
import { columnOf, insertRow, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import {
  cancelCycle,
  countCycles,
  cycleProgress,
  endCycle,
  openCycles,
  PAGE_SIZE,
  pauseCycle,
  releaseEarlierBoots,
  resumeCycle,
  takeCycle,
} from '../src/index.ts';
import {
  announced,
  type Config,
  cycles,
  enqueueFor,
  plannedRule,
  read,
  readAll,
  served,
  take,
  takeOne,
  travelTo,
} from './support.ts';

let own: TestDb;
let db: Db;
let tenant: Tenant;
const disposals: TestDb[] = [];
beforeEach(async () => {
  own = await testDb();
  disposals.push(own);
  db = own.db;
  tenant = await insertTenant(db, { timezone: 'Asia/Tokyo' });
});
/** What a person does, in a transaction of its own. */
const by = <What, Result>(
  act: (tx: Tx, of: Tenant, what: What) => Promise<Result>,
  of: Tenant,
  what: What,
): Promise<Result> => inTransaction(db, (tx) => act(tx, of, what));

afterAll(async () => {
  for (const database of disposals) await database[Symbol.asyncDispose]();
});

const START = '2100-01-01T00:00:30Z';
const NOON = '2100-01-01T12:00:00Z';

/** A cycle of the account's friends that has just been opened; its id. */
async function openedCycle(config: Partial<Config> = {}): Promise<string> {
  await travelTo(db, START);
  await plannedRule(db, tenant, { cron: '0 12 * * *', timezone: 'UTC', ...config });
  await travelTo(db, NOON);
  await openCycles(db, { limit: 50 });
  return (await columnOf(db, 'select max(id) from scheduled_trigger_execution'))[0] ?? '';
}

const finish = (where = 'true', status = 'done') =>
  db.$client
    .query(`
    with started as (update scheduled_action set status = 'processing', fence = fence + 1, attempt = attempt + 1, claimed_by = 'x', claimed_via = 'inline',
                                                 lease_until = clock_timestamp() + interval '1 minute' where status = 'pending' and ${where} returning id)
    select 1 from started`)
    .then(() =>
      db.$client.query(
        `update scheduled_action set status = '${status}', fence = fence + 1, lease_until = null, claimed_by = null, claimed_via = null, executed_at = app_now() where status = 'processing'`,
      ),
    );

test('each friend of the account is met once, page by page, and the counts add up', async () => {
  const people = await insertUsers(db, tenant, 2 * PAGE_SIZE + 203);
  await insertUsers(db, await insertTenant(db), 3);
  const executionId = await openedCycle();
  await readAll(db, await takeOne(db, tenant));
  expect(await served(db)).toEqual(people);
  expect(await cycleProgress(db, tenant, { executionId })).toEqual({
    ...{ total: 1_203, open: 1_203, processed: 0, failed: 0, suppressed: 0, isReading: false },
  });
  expect(await countCycles(db)).toEqual([]);
  await db.$client.query(`update scheduled_trigger_execution set counted_at = null`);
  await finish();
  expect((await countCycles(db)).map(({ id }) => id)).toEqual([executionId]);
  expect(await cycles(db, 'total_users, processed_users, failed_users')).toEqual([
    '2100-01-01T12:00 completed 1203 1203 0',
  ]);
});

test('a cycle whose people partly fail is completed, and says how many', async () => {
  await insertUsers(db, tenant, 10);
  const executionId = await openedCycle();
  await readAll(db, await takeOne(db, tenant));
  await finish(`user_id <= '${lineUserId(3)}'`, 'failed');
  expect(await cycleProgress(db, tenant, { executionId })).toMatchObject({
    total: 10,
    open: 7,
    processed: 0,
    failed: 3,
  });
  await finish();
  expect(await countCycles(db)).toHaveLength(1);
  expect(await cycles(db, 'total_users, processed_users, failed_users')).toEqual(['2100-01-01T12:00 completed 10 7 3']);
  expect(await cycleProgress(db, tenant, { executionId })).toMatchObject({
    total: 10,
    open: 0,
    processed: 7,
    failed: 3,
  });
});

test('a cycle of nobody is completed at once', async () => {
  await openedCycle();
  await readAll(db, await takeOne(db, tenant));
  expect(await countCycles(db)).toHaveLength(1);
});

test('a page that is not committed is read again; who takes a cycle over goes on behind the last one, and the one before writes nothing', async () => {
  const people = await insertUsers(db, tenant, 2 * PAGE_SIZE + 10);
  const executionId = await openedCycle();
  const first = await takeOne(db, tenant);
  await read(db, first);
  await expect(
    read(db, first, {
      enqueue: async (tx, userIds) => {
        await enqueueFor(first)(tx, userIds);
        throw new Error('killed');
      },
    }),
  ).rejects.toThrow('killed');
  expect(await announced(db)).toEqual([]); // its lease is not over
  await db.$client.query(
    `update scheduled_trigger_execution set lease_until = clock_timestamp() - interval '1 s', published_at = null`,
  );
  const [ticket] = await announced(db);
  expect(ticket).toMatchObject({ id: executionId, fence: first.fence });
  const second = await take(db, tenant, ticket ?? first, 'worker-2:boot');
  expect(await read(db, first)).toEqual({ result: 'lost' });
  expect(await takeCycle(db, tenant, { ticket: first, claimedBy: 'w:b', leaseSeconds: 30 })).toBeUndefined();
  await readAll(db, second);
  expect(await served(db)).toEqual(people);
});

test('what an earlier boot of the same instance was reading goes on at once, what another reads does not', async () => {
  await insertUsers(db, tenant, 5);
  await openedCycle();
  const cycle = await takeOne(db, tenant);
  expect(await releaseEarlierBoots(db, { claimedBy: 'worker-2:now' })).toBe(0);
  expect(await releaseEarlierBoots(db, { claimedBy: 'worker-1:now' })).toBe(1);
  expect(await read(db, cycle)).toEqual({ result: 'lost' });
  await readAll(db, await takeOne(db, tenant));
  expect(await served(db)).toHaveLength(5);
});

test('of several that hold the same ticket one takes the cycle', async () => {
  await insertUsers(db, tenant, 5);
  await openedCycle();
  const [ticket] = await announced(db);
  if (ticket === undefined) throw new Error('not announced');
  const taken = await Promise.all(
    [1, 2, 3, 4, 5].map((n) => takeCycle(db, tenant, { ticket, claimedBy: `w-${n}:b`, leaseSeconds: 30 })),
  );
  expect(taken.filter((cycle) => cycle !== undefined)).toHaveLength(1);
});

test('who joins is met up to the last id of the beginning, if not passed yet; who leaves is not; nobody twice', async () => {
  const people = await insertUsers(db, tenant, PAGE_SIZE + 100);
  const audience = await insertRow(db, 'audience', {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, name: 'audience' },
  });
  const audienceId = String(audience.id);
  const join = (userIds: readonly string[]) =>
    db.$client.query(
      `insert into audience_member (audience_id, organization_id, line_oa_id, user_id) select id, organization_id, line_oa_id, unnest($2::text[]) from audience where id = $1`,
      [audienceId, userIds],
    );
  await join(people.slice(1, -2)); // all but the first and the last two
  await openedCycle({ audienceId });
  const cycle = await takeOne(db, tenant);
  await read(db, cycle, { config: { audienceId } });
  await join([people[0] ?? '', ...people.slice(-2)]);
  await db.$client.query('delete from audience_member where user_id = $1', [people[PAGE_SIZE + 50]]);
  await db.$client.query('update line_user set is_following = false, blocked_at = app_now() where user_id = $1', [
    people[PAGE_SIZE + 51],
  ]);
  await readAll(db, cycle, { config: { audienceId } });
  expect(await served(db)).toEqual(people.slice(1, -2).filter((_, n) => n !== PAGE_SIZE + 49 && n !== PAGE_SIZE + 50));
});

test('a paused cycle reads nobody more until it is resumed, wherever it was', async () => {
  const people = await insertUsers(db, tenant, PAGE_SIZE + 5);
  const executionId = await openedCycle();
  const cycle = await takeOne(db, tenant);
  await read(db, cycle);
  expect(await by(pauseCycle, await insertTenant(db), { executionId })).toBe(false);
  expect(await by(pauseCycle, tenant, { executionId })).toBe(true);
  expect(await by(pauseCycle, tenant, { executionId })).toBe(false);
  expect(await read(db, cycle)).toEqual({ result: 'lost' });
  expect(await announced(db)).toEqual([]);
  expect(await by(resumeCycle, tenant, { executionId })).toBe(true);
  await readAll(db, await takeOne(db, tenant));
  expect(await served(db)).toEqual(people);
});

test('a cancelled cycle is over for good', async () => {
  await insertUsers(db, tenant, PAGE_SIZE + 5);
  const executionId = await openedCycle();
  const cycle = await takeOne(db, tenant);
  await read(db, cycle);
  expect(await by(cancelCycle, tenant, { executionId })).toBe(true);
  expect(await by(cancelCycle, tenant, { executionId })).toBe(false);
  expect(await by(resumeCycle, tenant, { executionId })).toBe(false);
  expect(await read(db, cycle)).toEqual({ result: 'lost' });
  expect(await announced(db)).toEqual([]);
  expect(await cycles(db)).toEqual(['2100-01-01T12:00 cancelled by_person']);
});

test('the cursor of a cycle never goes back, whoever writes', async () => {
  await insertUsers(db, tenant, PAGE_SIZE + 5);
  await openedCycle();
  await read(db, await takeOne(db, tenant));
  const back = db.$client.query(`update scheduled_trigger_execution set cursor_user_id = 'A', fence = fence + 1`);
  await expect(back).rejects.toThrow('the cursor of a cycle never goes back');
});

test('a cycle whose rule is gone is ended by whoever finds that out', async () => {
  const executionId = await openedCycle();
  await inTransaction(db, (tx) => endCycle(tx, { executionId, reason: 'rule_deleted' }));
  expect(await cycles(db)).toEqual(['2100-01-01T12:00 cancelled rule_deleted']);
});

test('nothing of a stopped account is announced, taken or read', async () => {
  await insertUsers(db, tenant, 5);
  await openedCycle();
  const [ticket] = await announced(db);
  const stop = (at: string) => db.$client.query(`update line_oa set stopped_at = ${at}`);
  await stop('app_now()');
  if (ticket === undefined) throw new Error('not announced');
  expect(await takeCycle(db, tenant, { ticket, claimedBy: 'w:b', leaseSeconds: 30 })).toBeUndefined();
  await stop('null');
  const cycle = await take(db, tenant, ticket);
  await stop('app_now()');
  expect(await read(db, cycle)).toEqual({ result: 'lost' });
  expect(await announced(db)).toEqual([]);
});

test('a cycle that waits its turn is announced when the earlier one is over', async () => {
  await openedCycle({ overlap: 'queue' });
  await travelTo(db, '2100-01-02T12:00:00Z');
  await openCycles(db, { limit: 50 });
  const [first, ...rest] = await announced(db);
  expect(rest).toEqual([]);
  await readAll(db, await take(db, tenant, first ?? { id: '0', fence: '0' }));
  await countCycles(db);
  expect(await announced(db)).toHaveLength(1);
});

test.for<[string, { daysBefore?: number; yearly?: boolean; leapDay?: 'feb28' | 'mar1' }, string, string[]]>([
  ['on the day itself', {}, '2100-03-01', ['2100-03-01', '2100-03-01T20:00']],
  ['a week before it', { daysBefore: 7 }, '2100-02-22', ['2100-03-01', '2100-03-01T20:00']],
  ['the day after', { daysBefore: -1 }, '2100-03-02', ['2100-03-01', '2100-03-01T20:00']],
  ['each year', { yearly: true }, '2100-03-01', ['2000-03-01', '2100-03-01', '2100-03-01T20:00']],
  ['each year, of the 29th of February on the 28th', { yearly: true }, '2101-02-28', ['2000-02-29', '2096-02-29']],
  [
    'or on the 1st of March',
    { yearly: true, leapDay: 'mar1' },
    '2101-03-01',
    ['2000-02-29', '2000-03-01', '2096-02-29', '2100-03-01', '2100-03-01T20:00'],
  ],
  ['each year, and in a leap year on the 29th', { yearly: true }, '2104-02-29', ['2000-02-29', '2096-02-29']],
  ['each year, a week before, over the end of a year', { yearly: true, daysBefore: 7 }, '2100-12-28', ['1999-01-04']],
])('a reminder is for those whose date it is: %s', async ([, onDate, day, expected]) => {
  const dates = [
    '2000-02-29',
    '2096-02-29',
    '2000-03-01',
    '2100-03-01',
    '2100-03-01T20:00',
    '1999-01-04',
    '2200-03-01',
    '2100-02-31',
    'soon',
    7,
  ];
  const people = await insertUsers(db, tenant, dates.length);
  for (const [n, userId] of people.entries())
    await db.$client.query(
      `update line_user set attributes = jsonb_build_object('date', $2::jsonb) where user_id = $1`,
      [userId, JSON.stringify(dates[n])],
    );
  const config = { attribute: 'date', daysBefore: 0, yearly: false, leapDay: 'feb28' as const, ...onDate };
  await travelTo(db, '2100-01-01T00:00:30Z');
  await plannedRule(db, tenant, { cron: '0 9 * * *', misfire: 'latest' });
  await travelTo(db, `${day}T00:00:10Z`); // 09:00:10 in Tokyo
  await openCycles(db, { limit: 50 });
  await readAll(db, await takeOne(db, tenant), { config: { onDate: config } });
  const served = await columnOf(
    db,
    `select attributes ->> 'date' from scheduled_action join line_user using (line_oa_id, user_id) order by 1`,
  );
  expect(served).toEqual(expected.toSorted());
});

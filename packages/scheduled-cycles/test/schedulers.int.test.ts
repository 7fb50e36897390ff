import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { announceCycles, openCycles, takeCycle } from '../src/index.ts';
import { type Config, cycles, insertTimeRule, nextRuns, plan, plannedRule, take, travelTo } from './support.ts';

// Schedulers that come and go, race, and have clocks of their own.

let own: TestDb;
let tenant: Tenant;
const disposals: TestDb[] = [];
beforeEach(async () => {
  own = await testDb();
  disposals.push(own);
  tenant = await insertTenant(own.db, { timezone: 'Asia/Tokyo' });
  await travelTo(own.db, '2100-01-01T00:00:30Z');
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  for (const database of disposals) await database[Symbol.asyncDispose]();
});

const PATIENCE = { timeout: 120_000 };
const open = () => openCycles(own.db, { limit: 50 });
const query = (text: string) => own.db.$client.query(text);
const opened = () => columnOf(own.db, `select count(*) from scheduled_trigger_execution where status = 'processing'`);
/** Every instant that has a cycle, with how many rows it has. */
const instants = () =>
  columnOf(
    own.db,
    `select to_char(scheduled_at at time zone 'UTC', 'DD HH24:MI') || ' ' || count(*) from scheduled_trigger_execution group by scheduled_at order by scheduled_at`,
  );

test('of ten schedulers that race for six cycles one opens each, and the others do nothing and report nothing [SEM-037, SEM-038]', async () => {
  for (let rule = 0; rule < 6; rule += 1) await plannedRule(own.db, tenant, { cron: '0 * * * *' });
  await travelTo(own.db, '2100-01-01T01:00:00Z');
  const racers = await Promise.all(Array.from({ length: 10 }, open));
  expect(racers.reduce((sum, racer) => sum + racer.opened, 0)).toBe(6);
  expect(await instants()).toEqual(['01 01:00 6']);
  const tickets = (
    await Promise.all(Array.from({ length: 10 }, () => announceCycles(own.db, { limit: 50, againAfterSeconds: 60 })))
  ).flat();
  expect(tickets).toHaveLength(6);
  const [ticket] = tickets;
  if (ticket === undefined) throw new Error('no cycle was announced');
  await take(own.db, tenant, ticket);
  expect(await takeCycle(own.db, tenant, { ticket, claimedBy: 'late:1', leaseSeconds: 30 })).toBeUndefined();
});

const DIES = 'alter table scheduled_trigger_execution enable trigger dies';
const LIVES = 'alter table scheduled_trigger_execution disable trigger dies';

test(
  'of ten hours in which schedulers die before they commit no cycle is missed and none comes twice [SEM-030]',
  PATIENCE,
  async () => {
    await query(`create function dies() returns trigger language plpgsql as $$ begin raise 'killed'; end $$`);
    await query(
      'create trigger dies before insert on scheduled_trigger_execution for each row execute function dies()',
    );
    await query(LIVES);
    const always: Config = { cron: '*/10 * * * *', misfire: 'all', overlap: 'allow', catchUpSeconds: 86_400 };
    await plannedRule(own.db, tenant, always);
    for (let step = 0; step < 30; step += 1) {
      await moveProductTime(own.db, 60 * ([7, 31, 1, 12, 49][step % 5] ?? 0));
      if (step % 3 === 2) continue; // nobody is there
      await query(DIES);
      await open().catch((error: Error) => expect(String(error.cause ?? error)).toContain('killed'));
      await query(LIVES);
      if (step % 3 === 1) await Promise.all([open(), open()]);
    }
    await open();
    const found = await instants();
    expect(found).toHaveLength(60);
    expect(found).toEqual(found.map((_, n) => `01 ${clock((n + 1) * 10)} 1`));
  },
);

const clock = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

test('a scheduler that stops half a second before the minute and one that starts half a second after miss nothing [SEM-032]', async () => {
  await plannedRule(own.db, tenant, { cron: '* * * * *', overlap: 'allow' });
  for (let minute = 1; minute <= 30; minute += 1) {
    await travelTo(own.db, `2100-01-01T00:${clock(minute - 1).slice(3)}:59.500Z`);
    await open();
    await travelTo(own.db, `2100-01-01T00:${clock(minute).slice(3)}:00.500Z`);
    await open();
    expect(await opened()).toEqual([String(minute)]);
  }
});

test('a weekly cycle comes each week although every process lives for a day only [SEM-034]', async () => {
  await plannedRule(own.db, tenant, { cron: '0 9 * * 1', overlap: 'allow' });
  for (let day = 0; day < 21; day += 1) {
    await moveProductTime(own.db, 86_400);
    await plan(own.db);
    await open();
  }
  expect(await instants()).toEqual(['04 00:00 1', '11 00:00 1', '18 00:00 1']);
});

test('a cycle whose row was deleted does not run again: its schedule has moved on [SEM-033]', async () => {
  await plannedRule(own.db, tenant, { cron: '0 * * * *' });
  await travelTo(own.db, '2100-01-01T01:00:00Z');
  await open();
  await query('delete from scheduled_trigger_execution');
  await plan(own.db);
  expect(await open()).toEqual({ opened: 0, skipped: 0, lateSeconds: [], looked: 0 });
  expect(await cycles(own.db)).toEqual([]);
});

test('schedulers whose clocks are minutes off open the cycle of the database’s time, once [SEM-036, SEM-061]', async () => {
  await plannedRule(own.db, tenant, { cron: '* * * * *', overlap: 'allow' });
  await travelTo(own.db, '2100-01-01T00:01:00Z');
  for (const clockAt of ['2100-01-01T00:02:30Z', '1999-12-31T23:58:00Z', '2100-01-01T00:03:00Z']) {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(clockAt) });
    await open();
  }
  expect(await instants()).toEqual(['01 00:01 1']);
  expect(await nextRuns(own.db)).toEqual(['2100-01-01T00:02']);
});

test('a rule that is saved many times at once has one next cycle [SEM-069]', async () => {
  const id = await plannedRule(own.db, tenant, { cron: '0 * * * *' });
  await Promise.all(
    Array.from({ length: 40 }, async (_, n) => {
      const config = JSON.stringify({ cron: `${n} 1 * * *`, timezone: 'UTC' });
      await own.db.$client.query('update trigger_rule set source_config = $2 where id = $1', [id, config]);
      await plan(own.db);
    }),
  );
  await plan(own.db);
  expect(await nextRuns(own.db)).toHaveLength(1);
  await travelTo(own.db, '2100-01-01T02:00:00Z');
  await Promise.all([open(), open()]);
  expect(await columnOf(own.db, 'select count(*) from scheduled_trigger_execution')).toEqual(['1']);
});

test('twenty restarts make one next cycle, and one cycle of it [SEM-070]', async () => {
  await plannedRule(own.db, tenant, { cron: '0 * * * *' });
  await travelTo(own.db, '2100-01-01T01:00:00Z');
  for (let restart = 0; restart < 20; restart += 1) await Promise.all([plan(own.db), open()]);
  expect(await instants()).toEqual(['01 01:00 1']);
  expect(await nextRuns(own.db)).toEqual(['2100-01-01T02:00']);
});

test('a rule that is deleted and made again within a minute has a cycle in the next one [SEM-071]', async () => {
  const id = await plannedRule(own.db, tenant, { cron: '* * * * *' });
  await own.db.$client.query('update trigger_rule set deleted_date = app_now() where id = $1', [id]);
  await plannedRule(own.db, tenant, { cron: '* * * * *' });
  await travelTo(own.db, '2100-01-01T00:01:00Z');
  await open();
  expect(await instants()).toEqual(['01 00:01 1']);
});

test('a rule that is switched off and on within a minute has a cycle in the next one [SEM-071]', async () => {
  const id = await plannedRule(own.db, tenant, { cron: '* * * * *' });
  for (const enabled of [false, true])
    await own.db.$client.query('update trigger_rule set enabled = $2 where id = $1', [id, enabled]);
  await plan(own.db);
  await travelTo(own.db, '2100-01-01T00:01:00Z');
  await open();
  expect(await instants()).toEqual(['01 00:01 1']);
});

test('two schedulers that plan and open side by side leave out no minute [SEM-072]', async () => {
  await insertTimeRule(own.db, tenant, { cron: '* * * * *', overlap: 'allow' });
  await Promise.all([plan(own.db), plan(own.db)]);
  for (let minute = 1; minute <= 10; minute += 1) {
    await travelTo(own.db, `2100-01-01T00:${clock(minute).slice(3)}:01Z`);
    await Promise.all([plan(own.db), open(), plan(own.db), open()]);
  }
  expect(await instants()).toEqual(Array.from({ length: 10 }, (_, n) => `01 ${clock(n + 1)} 1`));
});

test.for<[string, Config, string[]]>([
  ['latest: one of them runs [SEM-026, SEM-035]', { cron: '*/2 * * * *' }, ['processing 1', 'skipped 100']],
  ['skip: none does [SEM-026, SEM-035]', { cron: '*/2 * * * *', misfire: 'skip' }, ['skipped 101']],
  [
    'all: a hundred do, and the others are told as one [SEM-026, SEM-035]',
    { cron: '*/2 * * * *', misfire: 'all', overlap: 'allow', catchUpSeconds: 2_592_000 },
    ['processing 100', 'skipped 1'],
  ],
])('after two weeks without a scheduler a rule of every other minute goes on; %s', async ([, config, expected]) => {
  await plannedRule(own.db, tenant, config);
  await travelTo(own.db, '2100-01-15T00:01:30Z');
  await open();
  const counts = `select status || ' ' || count(*) from scheduled_trigger_execution group by status order by status`;
  expect(await columnOf(own.db, counts)).toEqual(expected);
  expect(await nextRuns(own.db)).toEqual(['2100-01-15T00:02']);
  await travelTo(own.db, '2100-01-15T00:02:00Z');
  expect((await open()).opened).toBe(config.overlap === 'allow' || config.misfire === 'skip' ? 1 : 0);
});

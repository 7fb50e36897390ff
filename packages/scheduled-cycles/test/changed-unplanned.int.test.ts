import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCalendar, cyclesWithin, openCycles } from '../src/index.ts';
import { cycles, insertTimeRule, nextRuns, plan, plannedRule, travelTo } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db, { timezone: 'Asia/Tokyo' });
  await travelTo(own.db, '2100-01-01T00:00:30Z');
});
afterEach(() => own[Symbol.asyncDispose]());

const query = (text: string, values: unknown[] = []) => own.db.$client.query(text, values);
const calendarOf = (config: object) => `source_config = '${JSON.stringify(config)}'`;
const at = (minute: number) => calendarOf({ cron: `${minute} * * * *` });
const zone = (timezone: string) => query('update line_oa set timezone = $1', [timezone]);

/** The scheduler is back. */
async function schedule(): Promise<void> {
  while ((await plan(own.db)) > 0);
  while ((await openCycles(own.db, { limit: 50 })).looked === 50);
}

type Change = string | (() => Promise<unknown>);
const ON = 'enabled = true';
const OFF = 'enabled = false';
const GONE = 'deleted_date = app_now()';

// the rule has its cycles on the hour, Kathmandu shows another quarter than Tokyo; a change is made at ten past each hour from one on
test.for<[what: string, changes: readonly Change[], left: readonly string[], next: string | null]>([
  [
    'another calendar, and another',
    [at(20), at(40)],
    ['01:00 skipped rule_changed', '01:20 skipped rule_changed', '02:40 processing'],
    '03:40',
  ],
  [
    'three of them',
    [at(20), at(40), at(50)],
    ['01:00 skipped rule_changed', '01:20 skipped rule_changed', '02:40 skipped rule_changed', '03:50 processing'],
    '04:50',
  ],
  [
    'another calendar, and then other people by it',
    [at(20), calendarOf({ cron: '20 * * * *', conditions: { attribute: 'tier', op: 'exists' } })],
    ['01:00 skipped rule_changed', '01:20 skipped misfire', '02:20 processing'],
    '03:20',
  ],
  ['another calendar, and gone', [at(20), GONE], ['01:00 skipped rule_changed', '01:20 skipped rule_deleted'], null],
  ['another calendar, and off', [at(20), OFF], ['01:00 skipped rule_changed', '01:20 skipped rule_disabled'], null],
  ['off, and on again', [OFF, ON], ['01:00 skipped rule_disabled'], '03:00'],
  ['off, on, and off', [OFF, ON, OFF], ['01:00 skipped rule_disabled', '03:00 skipped rule_disabled'], null],
  [
    'off, another calendar meanwhile, and on',
    [OFF, at(40), ON],
    ['01:00 skipped rule_disabled', '03:40 processing'],
    '04:40',
  ],
  [
    'it begins to observe, and acts again',
    [`mode = 'observe'`, `mode = 'live'`],
    ['01:00 skipped rule_changed', '02:00 skipped rule_changed'],
    '03:00',
  ],
  [
    'another zone, and another',
    [() => zone('Asia/Kathmandu'), () => zone('Europe/Berlin')],
    ['01:00 skipped zone_changed', '01:15 skipped zone_changed'],
    '03:00',
  ],
  [
    'another zone, and another calendar',
    [() => zone('Asia/Kathmandu'), calendarOf({ cron: '0 * * * *', timezone: 'UTC' })],
    ['01:00 skipped zone_changed', '01:15 skipped rule_changed'],
    '03:00',
  ],
  [
    'a calendar of its own zone, and another zone of the account',
    [calendarOf({ cron: '30 * * * *', timezone: 'UTC' }), () => zone('Asia/Kathmandu')],
    ['01:00 skipped rule_changed', '01:30 processing'],
    '02:30',
  ],
  [
    'what is no calendar, and one',
    [calendarOf({ cron: 'never' }), at(40)],
    ['01:00 skipped rule_changed', '02:40 processing'],
    '03:40',
  ],
  [
    'another kind of rule, and back',
    [`source_type = 'attribute_changed', source_config = '{}'`, `source_type = 'scheduled_time', ${at(40)}`],
    ['01:00 skipped rule_disabled', '02:40 processing'],
    '03:40',
  ],
] as const)('what is due of a rule that is changed again and again while no scheduler runs: %s', async (row) => {
  const [, changes, left, next] = row;
  const id = await plannedRule(own.db, tenant, { cron: '0 * * * *' });
  for (const [n, change] of changes.entries()) {
    await travelTo(own.db, `2100-01-01T0${n + 1}:10:00Z`);
    await (typeof change === 'string' ? query(`update trigger_rule set ${change} where id = $1`, [id]) : change());
  }
  // of what is planned the last cycle of the hour is caught up with
  const last = left.findLast((line) => line.endsWith('processing'))?.slice(0, 5);
  await travelTo(own.db, `2100-01-01T${last ?? `0${changes.length}:10`}:50Z`);
  await schedule();
  expect(await cycles(own.db)).toEqual(left.map((line) => `2100-01-01T${line}`));
  expect(await nextRuns(own.db)).toEqual([next && `2100-01-01T${next}`]);
  expect(await columnOf(own.db, 'select count(*) from superseded_calendar')).toEqual(['0']);
});

test('what a new rule had due that was changed before anybody had planned it is listed as well, with the version that it was of', async () => {
  const id = await insertTimeRule(own.db, tenant, { cron: '0 * * * *' });
  await travelTo(own.db, '2100-01-01T03:10:00Z');
  await query(`update trigger_rule set ${at(20)} where id = $1`, [id]);
  expect(await cyclesWithin(own.db, 2_000)).toEqual([0]);
  await schedule();
  expect(await cycles(own.db, 'reason_code, rule_version, error_message')).toEqual([
    expect.stringMatching(
      /^2100-01-01T01:00 skipped rule_changed 1 and all others before 2100-01-01T03:10:0\d\.\d{3}Z$/,
    ),
  ]);
});

test('a deleted rule leaves something to be listed, of which the look ahead tells', async () => {
  const id = await insertTimeRule(own.db, tenant, { cron: '0 * * * *' });
  await travelTo(own.db, '2100-01-01T01:10:00Z');
  await query(`update trigger_rule set ${GONE} where id = $1`, [id]);
  expect(await cyclesWithin(own.db, 2_000)).toEqual([0]);
  await schedule();
  expect(await cycles(own.db)).toEqual(['2100-01-01T01:00 skipped rule_deleted']);
  expect(await cyclesWithin(own.db, 2_000)).toEqual([]);
});

test('a cycle that is due by what is no calendar any more is listed', async () => {
  const id = await plannedRule(own.db, tenant, { cron: '0 * * * *', timezone: 'Asia/Tokyo' });
  // as though the zone had lost its name in a newer copy of the data: nobody changed the rule
  await query('alter table trigger_rule disable trigger trigger_rule_moves_schedule');
  await query(`update trigger_rule set ${calendarOf({ cron: '0 * * * *', timezone: 'Asia/Tokio' })} where id = $1`, [
    id,
  ]);
  await query('alter table trigger_rule enable trigger trigger_rule_moves_schedule');
  await travelTo(own.db, '2100-01-01T02:10:00Z');
  await openCycles(own.db, { limit: 50 });
  await schedule();
  expect(await cycles(own.db, 'reason_code, left(error_message, 37)')).toEqual([
    '2100-01-01T01:00 skipped rule_invalid and all others before 2100-01-01T02:1',
  ]);
  await query(`update trigger_rule set ${at(20)} where id = $1`, [id]);
  await schedule();
  expect(await nextRuns(own.db)).toEqual(['2100-01-01T02:20']);
});

test('two changes at once, the one that began first last: the schedule does not go back behind the other', async () => {
  const id = await plannedRule(own.db, tenant, { cron: '0 * * * *' });
  const early = await own.db.$client.connect();
  try {
    await early.query('begin');
    await early.query('select app_now()');
    await travelTo(own.db, '2100-01-01T01:10:00Z');
    await query(`update trigger_rule set ${at(20)} where id = $1`, [id]);
    const [before] = await columnOf(own.db, 'select plan_from from cycle_schedule');
    await early.query(`update trigger_rule set ${at(5)} where id = $1`, [id]);
    await early.query('commit');
    expect(await columnOf(own.db, 'select plan_from from cycle_schedule')).toEqual([before]);
  } finally {
    early.release();
  }
});

/** Numbers below `below`, the same for a seed. */
const dice = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};

interface Period {
  readonly rule: string;
  readonly cron: string;
  readonly timezone: string;
  readonly from: Date;
  readonly until: Date;
}

test.for([1, 2, 3])(
  'whatever is changed in whatever order while a scheduler comes and goes, no period of a calendar has something due and no cycle (%i)',
  async (seed) => {
    const roll = dice(seed);
    const zones = ['Asia/Tokyo', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'America/St_Johns'] as const;
    const rules = await Promise.all(
      Array.from({ length: 12 }, () => insertTimeRule(own.db, tenant, { cron: '0 * * * *' })),
    );
    const productTime = async () => new Date(String((await columnOf(own.db, `select to_json(app_now()) #>> '{}'`))[0]));
    const started = await productTime();
    const lives = new Map(rules.map((id) => [id, { cron: '0 * * * *', isOn: true, from: started }]));
    const periods: Period[] = [];
    let timezone: string = 'Asia/Tokyo';
    const end = (rule: string, until: Date) => {
      const life = lives.get(rule);
      if (life?.isOn) periods.push({ rule, cron: life.cron, timezone, from: life.from, until });
    };
    for (let step = 0, clock = Date.parse('2100-01-01T00:05:00Z'); step < 12; step += 1) {
      clock += (20 + roll(70)) * 60_000;
      await travelTo(own.db, new Date(clock).toISOString());
      for (const [id, life] of lives) {
        const what = roll(5);
        if (what > 2) continue;
        const cron = what === 0 ? `${roll(60)} * * * *` : life.cron;
        const isOn = what === 0 ? life.isOn : what === 1;
        await query(`update trigger_rule set source_config = $2, enabled = $3 where id = $1`, [id, { cron }, isOn]);
        if (cron === life.cron && isOn === life.isOn) continue;
        const from = await productTime();
        end(id, from);
        lives.set(id, { cron, isOn, from });
      }
      if (roll(4) === 0) {
        const other = zones[roll(zones.length)] ?? 'UTC';
        if (other === timezone) continue;
        await zone(other);
        const from = await productTime();
        for (const [id, life] of lives) {
          end(id, from);
          lives.set(id, { ...life, from });
        }
        timezone = other;
      }
      if (roll(3) === 0) await schedule();
    }
    const over = await productTime();
    for (const id of rules) end(id, over);
    await schedule();
    const seen = new Set(
      await columnOf(
        own.db,
        `select concat_ws(' ', trigger_rule_id, extract(epoch from scheduled_at)::bigint) from scheduled_trigger_execution`,
      ),
    );
    const due = periods.flatMap((period) => {
      const first = createCalendar(period).next(period.from);
      return first === undefined || first > period.until ? [] : [{ ...period, first }];
    });
    expect(due.length).toBeGreaterThan(20);
    expect(due.filter(({ rule, first }) => !seen.has(`${rule} ${first.getTime() / 1_000}`))).toEqual([]);
  },
);

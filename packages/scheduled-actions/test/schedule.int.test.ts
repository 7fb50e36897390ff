import type { Delay, Tenant } from '@dueline/contracts';
import { inTransaction, sql } from '@dueline/db';
import { columnOf, insertRow, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { type ActionToSchedule, finishActions, scheduleAction, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim, each, standAt } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db, { timezone: 'Asia/Bangkok' });
  await insertUsers(own.db, tenant, 2);
  await standAt(own.db, '2026-05-01 12:00:00Z');
});
afterEach(() => own[Symbol.asyncDispose]());

const schedule = (...changes: Partial<ActionToSchedule>[]) =>
  inTransaction(own.db, (tx) =>
    scheduleMany(
      tx,
      changes.map((change) => actionToSchedule(tenant, change)),
    ),
  );

const base = { reEvaluateConditions: false };
const DAY = 86_400;
const DELAYS: [name: string, delay: Delay, isBulk: boolean, row: string][] = [
  [
    'no delay is due now, ahead of others',
    { mode: 'normal', seconds: 0, ...base },
    false,
    '0|05-01 12:00|05-01 12:00|-|-|-|-',
  ],
  ['a year', { mode: 'normal', seconds: 365 * DAY, ...base }, false, '1|05-01 12:00|05-01 12:00|-|-|-|-'],
  [
    'one of very many is behind others, even without delay',
    { mode: 'normal', seconds: 0, ...base },
    true,
    '2|05-01 12:00|05-01 12:00|-|-|-|-',
  ],
  [
    'a limit of lateness is kept',
    { mode: 'normal', seconds: 0, maxLatenessSeconds: 9, ...base },
    false,
    '0|05-01 12:00|05-01 12:00|-|-|-|9',
  ],
  [
    'a wait is due at its deadline and begins now',
    { mode: 'waitForTracking', delaySeconds: DAY, waits: [{ source: 'link' }], onExpired: { do: 'skip' }, ...base },
    ...([false, '1|05-02 12:00|05-02 12:00|05-02 12:00|05-01 12:00|-|-'] as const),
  ],
  [
    'the other name of the deadline means the same',
    { mode: 'waitForTracking', expiresSeconds: DAY, waits: [{ source: 'link' }], onExpired: { do: 'skip' }, ...base },
    ...([false, '1|05-02 12:00|05-02 12:00|05-02 12:00|05-01 12:00|-|-'] as const),
  ],
];

test.for(DELAYS)('[T1] %s', async ([, delay, isBulk, row]) => {
  const made = await schedule({ delay, isBulk });
  expect(made).toEqual([{ result: 'made', id: expect.stringMatching(/^\d+$/), isPast: false }]);
  const at = (name: string) => `coalesce(to_char(${name} at time zone 'UTC', 'MM-DD HH24:MI'), '-')`;
  expect(
    await each(
      own.db,
      `concat_ws('|', lane, ${['execute_at', 'due_at', 'expires_at', 'anchor_at'].map(at).join(', ')}, coalesce(anchor_ref, '-'), coalesce(max_lateness_seconds::text, '-'))`,
    ),
  ).toEqual([row]);
  expect(await each(own.db, 'status || fence')).toEqual(['pending0']);
});

test('[T1] each action of a call is told what became of it, in order', async () => {
  const [first] = await schedule({ dedupKey: 'a', openKey: 'rule:user' });
  if (first?.result !== 'made') throw new Error('nothing was made');
  const results = await schedule(
    { dedupKey: 'b' },
    { dedupKey: 'a' },
    { dedupKey: 'c', openKey: 'rule:user' },
    { dedupKey: 'b' },
    { dedupKey: 'a', openKey: 'rule:user' },
    { dedupKey: 'd', openKey: 'rule:other' },
    { delay: { mode: 'relativeToDate', to: { attribute: 'birthday' }, offsetDays: 0, whenPast: 'fire', ...base } },
    { dedupKey: 'e', openKey: 'rule:other' },
  );
  expect(results.map(({ result }) => result)).toEqual([
    ...[
      'made',
      'already_scheduled',
      'already_pending',
      'already_scheduled',
      'already_scheduled',
      'made',
      'no_date',
      'already_pending',
    ],
  ]);
  const idOf = (n: number) => {
    const result = results[n];
    return result !== undefined && 'id' in result ? result.id : undefined;
  };
  expect([idOf(1), idOf(2), idOf(3), idOf(4), idOf(7)]).toEqual([first.id, first.id, idOf(0), first.id, idOf(5)]);
  expect(await schedule()).toEqual([]);
  expect(await each(own.db, 'dedup_key')).toEqual(['a', 'b', 'd']);
});

test('[T1] an open key is free again when its row has ended; a dedup key never', async () => {
  await schedule({ dedupKey: 'a', openKey: 'rule:user' });
  const [ticket] = await claim(own.db);
  if (ticket === undefined) throw new Error('nothing claimed');
  expect(await schedule({ dedupKey: 'b', openKey: 'rule:user' })).toMatchObject([{ result: 'already_pending' }]);
  await inTransaction(own.db, (tx) => finishActions(tx, [{ ...ticket, to: 'done' }]));
  expect(await schedule({ dedupKey: 'b', openKey: 'rule:user' })).toMatchObject([{ result: 'made' }]);
  expect(await schedule({ dedupKey: 'a' })).toMatchObject([{ result: 'already_scheduled', id: ticket.id }]);
});

test('[T1] keys are those of an account: another one has its own', async () => {
  const other = await insertTenant(own.db);
  const twice = [tenant, other].map((whose) => actionToSchedule(whose, { dedupKey: 'a', openKey: 'o' }));
  const results = await inTransaction(own.db, (tx) => scheduleMany(tx, twice));
  expect(results.map(({ result }) => result)).toEqual(['made', 'made']);
});

test('[T1] of twenty schedulers of one thing at once one makes the row, the others are told which it is', async () => {
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      inTransaction(own.db, (tx) =>
        scheduleAction(
          tx,
          actionToSchedule(tenant, n % 2 ? { dedupKey: 'a', openKey: 'o' } : { dedupKey: `b${n}`, openKey: 'o' }),
        ),
      ),
    ),
  );
  const made = results.filter(({ result }) => result === 'made');
  expect(made).toHaveLength(1);
  const [row] = await columnOf(own.db, 'select id from scheduled_action');
  expect(new Set(results.map((result) => ('id' in result ? result.id : undefined)))).toEqual(new Set([row]));
});

test('[T1] a wait keeps what it waits for, each with the branch it leads to', async () => {
  const waits = [
    { source: 'link', refId: '7' },
    { source: 'form', branch: 'asked' },
    { source: 'attribute', refId: 'tier' },
    { source: 'friend' },
  ] as const;
  await schedule({
    delay: { mode: 'waitForTracking', expiresSeconds: 60, waits: [...waits], onExpired: { do: 'run' }, ...base },
    userId: lineUserId(2),
  });
  expect(
    await columnOf(
      own.db,
      `select concat_ws(' ', wait.n, wait.source, coalesce(wait.ref_id, '-'), wait.branch, wait.user_id = action.user_id, wait.line_oa_id = action.line_oa_id)
         from action_wait as wait join scheduled_action as action on action.id = wait.scheduled_action_id order by wait.n`,
    ),
  ).toEqual(['1 link 7 clicked t t', '2 form - asked t t', '3 attribute tier changed t t', '4 friend - followed t t']);
});

const dated = (whenPast: 'fire' | 'skip' | 'fail', days: number): Delay => ({
  ...{ mode: 'relativeToDate', to: { attribute: 'trial_ends' }, offsetDays: days, at: '09:00', whenPast, ...base },
});
const setTrial = (value: unknown) =>
  own.db.$client.query('update line_user set attributes = $1 where user_id = $2', [
    { trial_ends: value },
    lineUserId(1),
  ]);

const PAST: [whenPast: 'fire' | 'skip' | 'fail', days: number, result: object, row: string][] = [
  ['skip', -1, { result: 'made', isPast: false }, 'pending|05-08 02:00|05-08 02:00|-|-|attribute:trial_ends'],
  ['fire', -10, { result: 'made', isPast: true }, 'pending|05-01 12:00|04-29 02:00|-|-|attribute:trial_ends'],
  ['skip', -10, { result: 'skipped' }, 'cancelled|05-01 12:00|04-29 02:00|date_past|-|attribute:trial_ends'],
  ['fail', -10, { result: 'failed' }, 'failed|05-01 12:00|04-29 02:00|-|date_past|attribute:trial_ends'],
];

test.for(PAST)('[T1] when past: %s, %i days from the date: %j', async ([whenPast, days, result, row]) => {
  await setTrial('2026-05-09');
  expect(await schedule({ delay: dated(whenPast, days) })).toMatchObject([result]);
  const at = (name: string) => `to_char(${name} at time zone 'UTC', 'MM-DD HH24:MI')`;
  expect(
    await each(
      own.db,
      `concat_ws('|', status, ${at('execute_at')}, ${at('due_at')}, coalesce(cancel_reason, '-'), coalesce(last_error, '-'), anchor_ref)`,
    ),
  ).toEqual([row]);
});

test('[T1] exactly at its time a date has not passed', async () => {
  await setTrial('2026-05-01T12:00:00Z');
  const delay: Delay = {
    mode: 'relativeToDate',
    to: { attribute: 'trial_ends' },
    offsetSeconds: 0,
    whenPast: 'fail',
    ...base,
  };
  expect(await schedule({ delay })).toMatchObject([{ result: 'made', isPast: false }]);
  expect(await each(own.db, 'lane')).toEqual(['0']);
});

test('[T1] a booking counts for its person only, and not when it is cancelled', async () => {
  const booking = async (changes: object = {}) =>
    String(
      (
        await insertRow(own.db, 'booking', {
          ...{
            organization_id: tenant.organizationId,
            line_oa_id: tenant.lineOaId,
            user_id: lineUserId(1),
            name: 'cut',
          },
          ...{ starts_at: '2026-05-03T10:00:00Z', ...changes },
        })
      ).id,
    );
  const delays = [
    await booking(),
    await booking({ user_id: lineUserId(2) }),
    await booking({ cancelled_date: '2026-05-01T00:00:00Z' }),
    '999',
  ].map(
    (bookingId): Delay => ({
      mode: 'relativeToDate',
      to: { bookingId },
      offsetSeconds: -3_600,
      whenPast: 'skip',
      ...base,
    }),
  );
  expect((await schedule(...delays.map((delay) => ({ delay })))).map(({ result }) => result)).toEqual([
    ...['made', 'no_date', 'no_date', 'no_date'],
  ]);
  expect(await each(own.db, `execute_at = timestamptz '2026-05-03 09:00Z'`)).toEqual(['true']);
});

const ALONE: [string, Delay][] = [
  ['a delay', { mode: 'normal', seconds: 60, ...base }],
  [
    'a wait',
    { mode: 'waitForTracking', delaySeconds: DAY, waits: [{ source: 'link' }], onExpired: { do: 'skip' }, ...base },
  ],
];
test.for(ALONE)(
  '[T1] one action with %s may be scheduled outside a transaction, with what goes along',
  async ([, delay]) => {
    await own.db.execute(sql`create table told (id bigint, dedup_key text)`);
    const alongside = { template: sql`insert into told select id, dedup_key from made`, values: {} };
    const action = actionToSchedule(tenant, { delay, dedupKey: 'a', openKey: 'o' });
    const made = await scheduleAction(own.db, action, alongside);
    expect(made).toMatchObject({ result: 'made', isPast: false });
    const id = 'id' in made ? made.id : undefined;
    expect(await scheduleAction(own.db, action, alongside)).toEqual({ result: 'already_scheduled', id });
    const other = { ...action, dedupKey: 'b' };
    expect(await scheduleAction(own.db, other, alongside)).toEqual({ result: 'already_pending', id });
    expect(await columnOf(own.db, 'select id || dedup_key from told')).toEqual([`${id}a`]);
    expect(await columnOf(own.db, 'select count(*) from action_wait')).toEqual([delay.mode === 'normal' ? '0' : '1']);
  },
);

test('[T1] an action and what goes along are both made, or neither', async () => {
  await own.db.execute(sql`create table told (id bigint)`);
  const alongside = { template: sql`insert into told select 1 / (id - id) from made`, values: {} };
  const failing = scheduleAction(own.db, actionToSchedule(tenant), alongside);
  await expect(failing).rejects.toThrow('division by zero');
  expect(await each(own.db, 'id')).toEqual([]);
});

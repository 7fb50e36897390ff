import type { Tenant } from '@dueline/contracts';
import { inTransaction, sql } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import {
  type ActionOutcome,
  type AlongsideFinish,
  finishActionsWith,
  finishDueWith,
  holdDue,
} from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CLAIM, claim, each, schedule } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  await own.db.execute(
    sql`create table letter (id bigint generated always as identity, fence bigint default 7, scheduled_action_id bigint)`,
  );
  await own.db.execute(sql`create table told (action_id bigint, letter_id bigint, n bigint)`);
});
afterEach(() => own[Symbol.asyncDispose]());

/** A letter for every second outcome, and a line for each. */
const ALONG: AlongsideFinish = {
  sends: {
    template: sql`insert into letter (scheduled_action_id) select id from moved where n % 2 = 0 returning scheduled_action_id, id, fence`,
    values: {},
  },
  history: {
    template: sql`insert into told select moved.id, sent.id, n from moved full join sent on sent.scheduled_action_id = moved.id`,
    values: {},
  },
};
const done = ({ id, fence }: { id: string; fence: string }): ActionOutcome => ({
  id,
  fence,
  to: 'done',
  branch: 'due',
});

test('[T1] what goes along is written for the rows that move, each with its place, and for no other', async () => {
  const ids = await schedule(own.db, tenant, { count: 4 });
  const tickets = (await claim(own.db)).toSorted((left, right) => Number(left.id) - Number(right.id));
  const outcomes = tickets.map((ticket, at) => done(at === 1 ? { ...ticket, fence: '99' } : ticket));

  const finished = await inTransaction(own.db, (tx) => finishActionsWith(tx, outcomes, ALONG));

  expect([...finished.keys()].toSorted()).toEqual([ids[0], ids[2], ids[3]].toSorted());
  expect(finished.get(ids[3] ?? '')).toEqual({ id: '1', fence: '7' });
  expect(finished.get(ids[0] ?? '')).toBe(undefined);
  expect(await columnOf(own.db, 'select action_id || coalesce(letter_id::text, $$-$$) from told order by n')).toEqual([
    ...[`${ids[0]}-`, `${ids[2]}-`, `${ids[3]}1`],
  ]);
  expect(await each(own.db, `status || ' ' || coalesce(branch, '')`)).toEqual([
    ...['done due', 'processing ', 'done due', 'done due'],
  ]);
});

test('[T1] a row that is decided where it was locked and what goes along are both written, or neither', async () => {
  await schedule(own.db, tenant, { count: 2 });
  const fails = {
    ...ALONG,
    history: { template: sql`insert into told select 1 / (n - n) from moved, sent`, values: {} },
  };
  const decide = (along: AlongsideFinish) =>
    inTransaction(own.db, async (tx) => finishDueWith(tx, (await holdDue(tx, CLAIM)).map(done), { by: CLAIM, along }));

  await expect(decide(fails)).rejects.toThrow('division by zero');
  expect(await each(own.db, 'status')).toEqual(['pending', 'pending']);
  expect(await columnOf(own.db, 'select id from letter')).toEqual([]);

  expect((await decide(ALONG)).size).toBe(2);
  expect(await each(own.db, `status || ' ' || claimed_by || attempt`)).toEqual(
    Array(2).fill(`done ${CLAIM.claimedBy}1`),
  );
  expect(await columnOf(own.db, 'select count(*) from letter')).toEqual(['1']);
});

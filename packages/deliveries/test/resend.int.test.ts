import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { closeOverdueDeliveries, type Resent, resendDeliveries } from '@dueline/deliveries';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HOUR, mustStart, plan, settle, startNow, stateOf } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const resend = (ids: readonly string[], acceptDuplicates = false) =>
  inTransaction(own.db, (tx) => resendDeliveries(tx, tenant, { ids, acceptDuplicates }));
const attempt = async (id: string, outcome: 'accepted' | 'refused' | 'ambiguous') =>
  settle(own.db, await mustStart(own.db, tenant, id), { outcome, lineRequestId: 'request' });
async function dayPasses() {
  await moveProductTime(own.db, 24 * HOUR);
  await inTransaction(own.db, closeOverdueDeliveries);
}

/** How a delivery comes to each of its states. */
const WAYS: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
  planned: async () => undefined,
  sending: (id) => mustStart(own.db, tenant, id),
  accepted: (id) => attempt(id, 'accepted'),
  refused: (id) => attempt(id, 'refused'),
  expired: dayPasses,
  unknown: async (id) => {
    await attempt(id, 'ambiguous');
    await dayPasses();
  },
  cancelled: (id) =>
    own.db.$client.query(`update delivery set status = 'cancelled', fence = fence + 1 where id = $1`, [id]),
};

const RESULTS: readonly [string, Resent['result'], Resent['result']][] = [
  ['planned', 'open', 'open'],
  ['sending', 'open', 'open'],
  ['accepted', 'over', 'over'],
  ['refused', 'resent', 'resent'],
  ['expired', 'resent', 'resent'],
  ['unknown', 'in_doubt', 'resent'],
  ['cancelled', 'over', 'over'],
];
test.for(RESULTS)(
  'a delivery that is %s: %s, where duplicates are accepted %s',
  async ([state, careful, accepting]) => {
    for (const [acceptDuplicates, result] of [
      [false, careful],
      [true, accepting],
    ] as const) {
      const { id } = await plan(own.db, tenant);
      await WAYS[state]?.(id);
      const [key] = await columnOf(own.db, 'select retry_key from delivery where id = $1', [id]);
      const before = await stateOf(own.db, id);

      expect(await resend([id], acceptDuplicates)).toEqual([{ id, before: state, result }]);

      const [newKey] = await columnOf(own.db, 'select retry_key from delivery where id = $1', [id]);
      if (result === 'resent') {
        expect(newKey).not.toBe(key);
        expect(await stateOf(own.db, id)).toMatch(/^planned \d+ -/);
        expect(await startNow(own.db, tenant, id)).toMatchObject({ id, verdict: 'clean', retryKey: newKey });
      } else {
        expect([newKey, await stateOf(own.db, id)]).toEqual([key, before]);
      }
    }
  },
);

test('two people who resend the same delivery resend it once', async () => {
  const { id } = await plan(own.db, tenant);
  await attempt(id, 'refused');
  const both = await Promise.all([resend([id]), resend([id])]);
  expect(both.flat().map(({ result }) => result)).toEqual(expect.arrayContaining(['resent', 'open']));
  expect(await columnOf(own.db, 'select epoch from delivery')).toEqual(['2']);
});

test('an id that is named twice, that does not exist, or that is of another account', async () => {
  const other = await insertTenant(own.db);
  const [mine, theirs] = [await plan(own.db, tenant), await plan(own.db, other)];
  await attempt(mine.id, 'refused');
  expect(await resend([mine.id, theirs.id, mine.id, '999999'])).toEqual([
    { id: mine.id, before: 'refused', result: 'resent' },
    { id: theirs.id, before: null, result: 'not_there' },
    { id: '999999', before: null, result: 'not_there' },
  ]);
});

import { randomUUID } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { inTenant, inTransaction } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import {
  announceDeliveries,
  cancelDeliveries,
  closeOverdueDeliveries,
  DELIVERY_INVARIANTS,
  reapDeliveries,
  renewDeliveries,
  resendDeliveries,
  retryKey,
} from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { create, HOUR, letWaitsPass, mustStart, settle, startNow } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const texts = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ type: 'text' as const, text: `text ${n}` }));
const request = (count: number) => ({
  actionType: 'send_message' as const,
  actionConfig: { messages: texts(count) },
});

/** Plans one action of so many messages; the ids of its parts, in order. */
async function planParts(count: number, logicalId = '7'): Promise<[string, string, string, string, string]> {
  const what = { kind: 'action', logicalId, scheduledActionId: logicalId, request: request(count) } as const;
  const created = await create(own.db, [deliveryToCreate(tenant, what)]);
  const ids = await columnOf(own.db, 'select id from delivery where logical_id = $1 order by ordinal', [logicalId]);
  expect(created.map(({ id }) => id)).toEqual(ids.slice(0, 1));
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = ids.map(String);
  return [first, second, third, fourth, fifth];
}

const announced = async () =>
  (await announceDeliveries(own.db, { limit: 10, againAfterSeconds: 600 })).map(({ id }) => id);

/** Of each part: status, epoch, whether it is due, waits for the part before, or neither; and why. */
const parts = () =>
  columnOf(
    own.db,
    `select concat_ws(' ', status, epoch, case when status = 'planned' then case when next_attempt_at = 'infinity' then 'waits' else 'due' end end, reason_code)
       from delivery order by ordinal`,
  );

/** What the audit says of the order of parts. */
async function outOfOrder(): Promise<number> {
  const invariant = DELIVERY_INVARIANTS.find(({ id }) => id === 'I13d');
  if (invariant === undefined) throw new Error('the invariant is missing');
  return (
    await own.db.execute(
      invariant.offending({ historyDays: 30, overdueSeconds: 0, leaseOverSeconds: 0, silentSeconds: 0 }),
    )
  ).rows.length;
}

async function attempt(
  id: string,
  outcome: 'accepted' | 'already' | 'refused' | 'ambiguous' | 'throttled' | 'not_reached',
) {
  return settle(own.db, await mustStart(own.db, tenant, id), { outcome, lineRequestId: `request-${id}` });
}

const resend = (ids: readonly string[], acceptDuplicates = false) =>
  inTransaction(own.db, (tx) => resendDeliveries(tx, tenant, { ids, acceptDuplicates }));
async function dayPasses() {
  await moveProductTime(own.db, 24 * HOUR);
  await inTransaction(own.db, closeOverdueDeliveries);
}

test.for([
  [1, [1]],
  [5, [5]],
  [6, [5, 1]],
  [7, [5, 2]],
  [10, [5, 5]],
  [25, [5, 5, 5, 5, 5]],
] as const)('%i messages are requests of %j, each message once and in order [T28]', async ([count, sizes]) => {
  await planParts(count);
  const bodies = (await columnOf(own.db, 'select body from delivery order by ordinal')).map((body) =>
    JSON.parse(String(body)),
  );
  expect(bodies.map(({ messages }) => messages.length)).toEqual(sizes);
  expect(bodies.flatMap(({ messages }) => messages)).toEqual(texts(count));
  expect(await columnOf(own.db, 'select distinct group_size from delivery')).toEqual([String(sizes.length)]);
});

test('the parts of any sends have keys of their own, which are those of their names [T28]', async () => {
  const anySend = fc.record({
    kind: fc.constantFrom('action' as const, 'event' as const),
    epoch: fc.integer({ min: 1, max: 3 }),
    count: fc.integer({ min: 1, max: 25 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anySend, { minLength: 1, maxLength: 8 }), async (sends) => {
      const run = randomUUID();
      const named = sends.map(({ count, ...send }, n) => ({
        ...send,
        logicalId: `${run}:${n}`,
        request: request(count),
      }));
      await create(
        own.db,
        named.map((send) => deliveryToCreate(tenant, send)),
      );
      const expected = named.flatMap(({ request: { actionConfig }, ...send }) =>
        Array.from({ length: Math.ceil(actionConfig.messages.length / 5) }, (_, ordinal) =>
          retryKey({ ...send, ordinal, channelId: '2000000001', endpoint: 'push', splitPath: '' }),
        ),
      );
      const keys = await columnOf(own.db, `select retry_key from delivery where logical_id like $1 order by id`, [
        `${run}:%`,
      ]);
      expect(new Set(keys)).toEqual(new Set(expected));
      expect(keys).toHaveLength(expected.length);
      expect(new Set(keys).size).toBe(keys.length);
    }),
    { numRuns: 20 },
  );
});

test('a part is announced and can be started only when LINE has accepted the one before [T28]', async () => {
  const [first, second, third] = await planParts(11);
  expect(await parts()).toEqual(['planned 1 due', 'planned 1 waits', 'planned 1 waits']);
  expect([await startNow(own.db, tenant, second), await announced()]).toEqual([undefined, []]);

  await attempt(first, 'accepted');
  expect(await parts()).toEqual(['accepted 1', 'planned 1 due', 'planned 1 waits']);
  expect([await startNow(own.db, tenant, third), await announced()]).toEqual([undefined, [second]]);

  await attempt(second, 'accepted');
  await attempt(third, 'accepted');
  expect(await parts()).toEqual(['accepted 1', 'accepted 1', 'accepted 1']);
  expect([await announced(), await outOfOrder()]).toEqual([[], 0]);
});

test.for(['throttled', 'not_reached', 'ambiguous'] as const)(
  'while a part is tried again (%s) the next waits [T28]',
  async (outcome) => {
    const [first, second] = await planParts(7);
    await attempt(first, outcome);
    await letWaitsPass(own.db);
    expect(await startNow(own.db, tenant, second)).toBeUndefined();
    await attempt(first, outcome === 'ambiguous' ? 'already' : 'accepted');
    expect(await parts()).toEqual(['accepted 1', 'planned 1 due']);
  },
);

test('a worker that dies between two parts, before or after LINE answered, leaves the next for later [T28]', async () => {
  const [first, second] = await planParts(7);
  const dead = await mustStart(own.db, tenant, first);
  await own.db.$client.query(`update delivery set lease_until = '2000-01-01' where id = $1`, [first]);
  await reapDeliveries(own.db);
  expect(await parts()).toEqual(['planned 1 due', 'planned 1 waits']);
  // it was not dead, and LINE had accepted: nobody owns the row, so this ends it
  await settle(own.db, dead, { outcome: 'accepted', lineRequestId: 'late' });
  expect(await parts()).toEqual(['accepted 1', 'planned 1 due']);
  await attempt(second, 'accepted');
  expect(await outOfOrder()).toBe(0);
});

test.for<[how: string, end: (first: string) => Promise<unknown>, expected: string]>([
  ['refused', (first) => attempt(first, 'refused'), 'refused'],
  ['expired', dayPasses, 'expired'],
  [
    'unknown',
    async (first) => {
      await attempt(first, 'ambiguous');
      await dayPasses();
    },
    'unknown',
  ],
])(
  'when a part ends as %s, nothing after it goes out, until a person sends it again [T28]',
  async ([, end, status]) => {
    const [first, second, third] = await planParts(11);
    await end(first);
    expect((await parts()).slice(1)).toEqual([`cancelled 1 earlier_${status}`, `cancelled 1 earlier_${status}`]);
    expect([await announced(), await outOfOrder()]).toEqual([[], 0]);

    expect(await resend([second], true)).toEqual([{ id: second, before: 'cancelled', result: 'follows' }]);
    expect(await resend([first], true)).toMatchObject([{ id: first, before: status, result: 'resent' }]);
    expect(await parts()).toEqual(['planned 2 due', 'planned 2 waits', 'planned 2 waits']);
    const keys = await columnOf(own.db, 'select retry_key from delivery order by ordinal');
    const [channelId] = await columnOf(own.db, 'select channel_id from line_oa');
    expect(keys).toEqual(
      [0, 1, 2].map((ordinal) =>
        retryKey({
          channelId: String(channelId),
          kind: 'action',
          logicalId: '7',
          epoch: 2,
          endpoint: 'push',
          ordinal,
          splitPath: '',
        }),
      ),
    );
    for (const id of [first, second, third]) await attempt(id, 'accepted');
    expect(await parts()).toEqual(['accepted 2', 'accepted 2', 'accepted 2']);
    expect(await outOfOrder()).toBe(0);
  },
);

test('a later part that was refused is sent again with what follows it, and what arrived is left alone', async () => {
  const [first, second, third] = await planParts(11);
  await attempt(first, 'accepted');
  await attempt(second, 'refused');
  expect(await parts()).toEqual(['accepted 1', 'refused 1 refused', 'cancelled 1 earlier_refused']);
  await resend([first, second, third]);
  expect(await parts()).toEqual(['accepted 1', 'planned 2 due', 'planned 2 waits']);
});

test('a part that reached nobody in 23 hours takes what waits for it into its new epoch [T18]', async () => {
  const [first, second] = await planParts(7);
  await attempt(first, 'not_reached');
  await moveProductTime(own.db, 23.5 * HOUR);
  await inTransaction(own.db, renewDeliveries);
  expect(await parts()).toEqual(['planned 2 due', 'planned 2 waits']);
  await attempt(first, 'accepted');
  expect(await parts()).toEqual(['accepted 2', 'planned 2 due']);
  await attempt(second, 'accepted');
  expect(await outOfOrder()).toBe(0);
});

const cancel = () => inTenant(own.db, tenant, (tx) => cancelDeliveries(tx, { tenant, scheduledActionIds: ['7'] }));

test.for<[when: string, before: (first: string) => Promise<unknown>, result: string, expected: readonly string[]]>([
  ['nothing has left', async () => undefined, 'cancelled', ['cancelled 1 by_person', 'cancelled 1 by_person']],
  [
    'the first part has arrived',
    (first) => attempt(first, 'accepted'),
    'cancelled',
    ['accepted 1', 'cancelled 1 by_person'],
  ],
  [
    'the first part is in doubt',
    (first) => attempt(first, 'ambiguous'),
    'cancelled',
    ['planned 1 due ambiguous', 'cancelled 1 by_person'],
  ],
  [
    'the first part was refused',
    (first) => attempt(first, 'refused'),
    'ended',
    ['refused 1 refused', 'cancelled 1 earlier_refused'],
  ],
])('[D9] a person who cancels when %s stops all that has not left', async ([, before, result, expected]) => {
  const [first] = await planParts(7);
  await before(first);
  expect(await cancel()).toEqual([{ scheduledActionId: '7', result }]);
  expect(await parts()).toEqual(expected);
  expect(await outOfOrder()).toBe(0);
});

test('[D9] what a person cancelled stays so when the part before it turns out to have arrived', async () => {
  const [first] = await planParts(7);
  await attempt(first, 'ambiguous');
  await cancel();
  await letWaitsPass(own.db);
  await attempt(first, 'already');
  expect((await parts()).at(1)).toBe('cancelled 1 by_person');
  expect(await announced()).toEqual([]);
});

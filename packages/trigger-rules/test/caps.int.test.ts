import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import {
  type Attempt,
  applyLimits,
  createRule,
  holdRoom,
  listFrequencyCaps,
  liveRules,
  type RuleDraft,
  setFrequencyCap,
} from '@dueline/trigger-rules';
import { ruleDraft } from '@dueline/trigger-rules/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const DAY = 86_400;
const [one, two, three, four] = [1, 2, 3, 4].map(lineUserId) as [string, string, string, string];
const cap = (maxMessages: number | null, windowSeconds = DAY) =>
  setFrequencyCap(own.db, tenant, { maxMessages, windowSeconds });
const at = (instant: string) =>
  own.db.$client.query(
    `create or replace function app_now() returns timestamptz language sql stable as $$ select timestamptz '${instant}' $$`,
  );

/** Attempts of these rules, made now, for one person, in order. */
async function attemptsOf(drafts: readonly Partial<RuleDraft<'send_message'>>[], user = 1): Promise<Attempt[]> {
  for (const draft of drafts) await createRule(own.db, tenant, ruleDraft(draft));
  const rules = await inTransaction(own.db, (tx) => liveRules(tx, 'attribute_changed', [tenant]));
  return rules.flatMap((read) =>
    read.kind === 'rule' ? { rule: read.rule, userId: lineUserId(user), sends: true } : [],
  );
}
const limitsOf = (...attempts: Attempt[]) => inTransaction(own.db, (tx) => applyLimits(tx, attempts));
const send = async (attempt: Attempt) => (await limitsOf(attempt))[0];

test('a person is sent no more than a cap allows within any window, over all rules of the account', async () => {
  await cap(2, 3_600);
  const [first, second] = await attemptsOf([{}, {}]);
  if (first === undefined || second === undefined) throw new Error('no rules');
  const found: (string | undefined)[] = [];
  for (const [instant, attempt] of [
    ['2026-03-01T00:00:00Z', first],
    ['2026-03-01T00:30:00Z', second],
    ['2026-03-01T00:59:59Z', first],
    ['2026-03-01T01:00:00Z', second], // the first is an hour ago
    ['2026-03-01T01:00:01Z', first],
    ['2026-03-01T01:30:00Z', first],
  ] as const) {
    await at(instant);
    found.push(await send(attempt));
  }
  expect(found).toEqual([undefined, undefined, 'frequency_cap', undefined, 'frequency_cap', undefined]);
  expect(await send({ ...first, userId: lineUserId(2) })).toBeUndefined();
});

/** A place for a message that was meant to go at an instant, and is decided so much later. */
async function placeFor(meant: string, laterMs: number): Promise<boolean> {
  const due = Temporal.Instant.from(meant);
  await at(due.add({ milliseconds: laterMs }).toString());
  const meantFor = [Number(due.epochNanoseconds / 1_000n)];
  return inTransaction(own.db, async (tx) => {
    const room = await holdRoom(tx, [{ ...tenant, userId: one }]);
    const taken = room.take({ ...tenant, userId: one, meantFor });
    await room.spend(tx);
    return taken;
  });
}

test('a message of each noon finds room under a cap of one a day, however many milliseconds its decision takes', async () => {
  await cap(1);
  const found: boolean[] = [];
  for (const [day, laterMs] of [
    ['2026-03-01', 350],
    ['2026-03-02', 0],
    ['2026-03-03', 800_000], // a large cycle
    ['2026-03-04', 5],
  ] as const)
    found.push(await placeFor(`${day}T12:00:00Z`, laterMs), await placeFor(`${day}T12:00:00Z`, laterMs + 1));
  expect(found).toEqual([true, false, true, false, true, false, true, false]);
});

test('what is really late counts when it really goes, so that a backlog exceeds no cap', async () => {
  await cap(1);
  expect(await placeFor('2026-03-01T12:00:00Z', 0)).toBe(true);
  expect(await placeFor('2026-03-02T12:00:00Z', 10 * 3_600_000)).toBe(true);
  expect(await placeFor('2026-03-03T12:00:00Z', 0)).toBe(false); // fourteen hours after the last
  expect(await placeFor('2026-03-03T22:00:00Z', 0)).toBe(true);
});

test('of a message that is late what was sent since it was meant to go counts too', async () => {
  await cap(1, 3_600);
  expect(await placeFor('2026-03-01T12:00:20Z', 0)).toBe(true);
  expect(await placeFor('2026-03-01T12:00:00Z', 30_000)).toBe(false);
});

test.for([
  [60, 1_000, false],
  [60, 500, true],
  [86_400, 900_000, false],
  [86_400, 860_000, true],
] as const)(
  'with a window of %i s a message that is %i ms late counts as one that is on time: %s',
  async ([seconds, laterMs, isOnTime]) => {
    await cap(1, seconds);
    await placeFor('2026-03-01T12:00:00Z', laterMs);
    const next = Temporal.Instant.from('2026-03-01T12:00:00Z').add({ seconds });
    expect(await placeFor(next.toString(), 0)).toBe(isOnTime);
  },
);

test('of several caps each must leave room, and a cap that is taken away limits no more', async () => {
  await cap(1, 60);
  await cap(2, DAY);
  expect(await listFrequencyCaps(own.db, tenant)).toEqual([
    { maxMessages: 1, windowSeconds: 60 },
    { maxMessages: 2, windowSeconds: DAY },
  ]);
  const [rule] = await attemptsOf([{}]);
  if (rule === undefined) throw new Error('no rule');
  await at('2026-03-01T00:00:00Z');
  expect([await send(rule), await send(rule)]).toEqual([undefined, 'frequency_cap']);
  await at('2026-03-01T00:02:00Z');
  expect([await send(rule), await send(rule)]).toEqual([undefined, 'frequency_cap']);
  await at('2026-03-01T00:04:00Z');
  expect(await send(rule)).toBe('frequency_cap');
  await cap(null, DAY);
  expect(await send(rule)).toBeUndefined();
});

test('what is exempt, what sends nothing, and a rule that observes take no place', async () => {
  await cap(1);
  const [exempt, observing, other] = await attemptsOf([{ exemptFromCaps: true }, { mode: 'observe' }, {}]);
  if (exempt === undefined || observing === undefined || other === undefined) throw new Error('no rules');
  const silent = { ...other, sends: false };
  expect(await limitsOf(exempt, exempt, silent, observing, observing, other, other, observing)).toEqual([
    ...[undefined, undefined, undefined, undefined, undefined, undefined],
    ...['frequency_cap', 'frequency_cap'], // one that observes sees that there is no room
  ]);
  expect(await send(exempt)).toBeUndefined();
});

test('whom the cap holds back keeps the slot of the rule, and whom the rule holds back leaves the place to others', async () => {
  await cap(1, 3_600);
  const [once, other] = await attemptsOf([{ frequency: 'once' }, { frequency: 'once' }]);
  if (once === undefined || other === undefined) throw new Error('no rules');
  await at('2026-03-01T00:00:00Z');
  expect(await limitsOf(once, other)).toEqual([undefined, 'frequency_cap']);
  await at('2026-03-01T02:00:00Z');
  expect(await limitsOf(once, other)).toEqual(['frequency', undefined]);
});

test.for([1, 3])('of twenty decisions at once about one person %i take the places there are', async (places) => {
  await cap(places);
  const [rule] = await attemptsOf([{}]);
  if (rule === undefined) throw new Error('no rule');
  const found = await Promise.all(Array.from({ length: 20 }, () => send(rule)));
  expect(found.filter((limit) => limit === undefined)).toHaveLength(places);
  expect(await columnOf(own.db, 'select cardinality(sent_at) from message_tally')).toEqual([String(places)]);
});

test('decisions about many people in opposite orders do not deadlock', async () => {
  await cap(1);
  const [rule] = await attemptsOf([{ frequency: 'once' }]);
  if (rule === undefined) throw new Error('no rule');
  const all = Array.from({ length: 100 }, (_, n) => ({ ...rule, userId: lineUserId(n) }));
  const found = await Promise.all([limitsOf(...all), limitsOf(...all.toReversed()), limitsOf(...all)]);
  expect(found.flat().filter((limit) => limit === undefined)).toHaveLength(100);
});

async function insertCampaign(columns: object, userIds: readonly string[][] | null): Promise<void> {
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  const audience = await insertRow(own.db, 'audience', { ...base, name: 'all' });
  const campaign = await insertRow(own.db, 'campaign', {
    ...{ ...base, name: 'sale', cast_type: userIds === null ? 'broadcast' : 'multicast', audience_id: audience.id },
    ...{ frozen_at: '2026-03-01T00:00:00Z', ...columns },
  });
  for (const [n, ids] of (userIds ?? [null]).entries())
    await own.db.$client.query(
      `insert into campaign_chunk (campaign_id, chunk_no, organization_id, line_oa_id, user_ids, user_count) values ($1, $2, $3, $4, $5, $6)`,
      [campaign.id, n, tenant.organizationId, tenant.lineOaId, ids, ids?.length],
    );
}

const CAMPAIGNS: [name: string, columns: object, chunks: string[][] | null, room: number[]][] = [
  ['of a campaign to an audience', {}, [[one, two], [four]], [0, 0, 1, 0]],
  ['of a broadcast', {}, null, [0, 0, 0, 0]],
  ['of a campaign that was frozen before the window', { frozen_at: '2026-02-01T00:00:00Z' }, null, [1, 1, 1, 1]],
  [
    'of a campaign that was cancelled before it went out',
    { status: 'cancel' },
    [[one, two, three, four]],
    [1, 1, 1, 1],
  ],
];

test.for(CAMPAIGNS)('the people %s have had a message', async ([, columns, chunks, room]) => {
  await cap(1);
  await insertCampaign(columns, chunks);
  await at('2026-03-01T00:00:01Z');
  const people = [one, two, three, four].map((userId) => ({ ...tenant, userId }));
  const found = await inTransaction(own.db, async (tx) => {
    const held = await holdRoom(tx, people);
    return people.map((person) => Number(held.take(person)));
  });
  expect(found).toEqual(room);
});

test.for([
  [0, DAY],
  [1_001, DAY],
  [1, 59],
  [1, 366 * DAY],
  [0.5, DAY],
])('a cap of %s messages in %s s is refused', async ([max = 0, seconds = 0]) => {
  await expect(cap(max, seconds)).rejects.toThrow('a cap is 1 to 1,000 messages in 60 s to 365 days');
});

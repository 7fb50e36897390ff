import { columnOf, testDb } from '@dueline/db/testing';
import { nthUserId } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { planCampaign, replicaOf, type Stage, stageOf } from './guarded-stage.ts';

const MULTICAST = '/v2/bot/message/multicast';
const POISON = nthUserId('e', 137);
const refusedFor = (bodyContains: string) =>
  ({ id: 'f', match: { endpoint: 'multicast', bodyContains }, effect: { type: 'status', status: 400 } }) as const;
const ends = ({ db }: Stage) =>
  columnOf(
    db,
    `select concat_ws(' ', status, reason_code, count(*)) from delivery group by status, reason_code order by 1`,
  );
const received = ({ simulator }: Stage) => [...simulator.ledger.receipts()].map(({ user }) => user);

/** Sends again and again what is due now: each half of what is refused. */
async function exhaust(stage: Stage, replicas: readonly ReturnType<typeof replicaOf>[]): Promise<void> {
  for (let before = -1; before < stage.requests(MULTICAST).length; ) {
    before = stage.requests(MULTICAST).length;
    for (const replica of replicas) await replica.round();
  }
}

test('of 500 one is poison and LINE does not say who: the one is found at the third of three times, a minute apart, in 2·log2(500)+2 requests more at most, and the 499 receive [T14]', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planCampaign(stage, 500);
  stage.simulator.faults.set({ rules: [refusedFor(POISON)] });

  await exhaust(stage, [replica]);
  expect(await stage.states()).toEqual(['planned 1']);
  await stage.pass(67);
  await exhaust(stage, [replica]);
  expect(received(stage).length).toBeGreaterThan(490);
  expect(await ends(stage)).not.toContain('refused invalid_recipient 1');
  await stage.pass(67);
  await exhaust(stage, [replica]);

  expect(new Set(received(stage)).size).toBe(499);
  expect(received(stage)).toHaveLength(499);
  expect(received(stage)).not.toContain(POISON);
  expect(await ends(stage)).toContain('refused invalid_recipient 1');
  expect(stage.requests(MULTICAST).length - 1).toBeLessThanOrEqual(2 * Math.log2(500) + 2);
  expect(await columnOf(stage.db, 'select status from campaign')).toEqual(['sent']);
});

test('of 500 one is poison and LINE says who: it is found at once, in two requests more [T14]', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  await planCampaign(stage, 500);
  stage.simulator.faults.set({
    rules: [{ id: 'f', match: { endpoint: 'multicast' }, effect: { type: 'poison', users: [POISON] } }],
  });
  await exhaust(stage, [replicaOf(stage)]);
  expect(await ends(stage)).toEqual(['accepted 1', 'refused invalid_recipient 1', 'split split 1']);
  expect(stage.requests(MULTICAST)).toHaveLength(3);
});

/** How an outage begins while a chunk is being split for one person: after so many requests, and refuses how many of the next ones. */
const OUTAGES = [
  ['everything, from the first halves on', { afterRequests: 2, probability: 0 }],
  ['everything, from the fourth halves on', { afterRequests: 8, probability: 0 }],
  ['every other request', { afterRequests: 2, probability: 0.5 }],
] as const;

test.for(OUTAGES)(
  'an outage that begins while a chunk is being split and refuses %s, for ten minutes, blames nobody but the one',
  { timeout: 60_000 },
  async ([, { afterRequests, probability }]) => {
    await using database = await testDb();
    const stage = await stageOf(database.db);
    const replica = replicaOf(stage);
    await planCampaign(stage, 500);
    const outage = { ...refusedFor(''), id: 'outage', match: { endpoint: 'multicast', probability } };
    stage.simulator.faults.set({ seed: 3, rules: [refusedFor(POISON)] });
    await exhaust(stage, [replica]);
    await stage.pass(67);
    while (stage.requests(MULTICAST).length < afterRequests) await replica.round();
    stage.simulator.faults.set({ seed: 3, rules: [refusedFor(POISON), outage] });
    for (let minute = 0; minute < 10; minute += 1) {
      await exhaust(stage, [replica]);
      await stage.pass(67);
    }
    stage.simulator.faults.set({ seed: 3, rules: [refusedFor(POISON)] });
    const goOn = async () => {
      await stage.pass(700);
      await exhaust(stage, [replica]);
      return new Set(received(stage)).size;
    };
    // a second of the real time, for so long a replica believes that the breaker is open
    await expect.poll(goOn, { timeout: 20_000, interval: 250 }).toBe(499);

    expect(received(stage)).toHaveLength(499);
    const open = (await ends(stage)).filter((end) => end?.startsWith('planned') || end?.startsWith('refused'));
    expect(open).toHaveLength(1); // the one, blamed or still asked for
    expect(
      await columnOf(stage.db, `select body::json ->> 'to' from delivery where status in ('planned', 'refused')`),
    ).toEqual([JSON.stringify([POISON])]);
  },
);

test('halves that are refused while the breaker is open are not halved again', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planCampaign(stage, 500);
  stage.simulator.faults.set({ rules: [refusedFor('')] });
  await exhaust(stage, [replica]);
  await stage.pass(67);
  await exhaust(stage, [replica]);
  const [parts] = await columnOf(stage.db, 'select max(length(split_path)) from delivery');
  expect(Number(parts)).toBeLessThanOrEqual(4);
  expect(await columnOf(stage.db, 'select breaker_until is not null from account_trouble')).toEqual(['true']);
  await stage.pass(400);
  await exhaust(stage, [replica]);
  expect(await columnOf(stage.db, 'select max(length(split_path)) from delivery')).toEqual([parts]);
});

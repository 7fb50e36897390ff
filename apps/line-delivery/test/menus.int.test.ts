import { inTransaction } from '@dueline/db';
import { columnOf } from '@dueline/db/testing';
import { resendDeliveries } from '@dueline/deliveries';
import { expect, test } from 'vitest';
import { expectSettled, menuStage, takeBack, user } from './menu-stage.ts';

test('a menu is linked, replaced by another and taken away', async () => {
  const stage = await menuStage();
  for (const menu of [0, 1, null] as const) {
    await stage.execute(await stage.wish([0], menu));
    await expectSettled(stage, [0]);
  }
  expect(await stage.story()).toEqual(Array(3).fill('accepted accepted200'));
});

test('who has no menu is done when it is taken away, and who blocked the account when they get one', async () => {
  const stage = await menuStage();
  await stage.execute(await stage.wish([1], null));
  await fetch(`${stage.simulator.controlUrl}/__sim/users/block`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ channelId: await channelOf(stage), userIds: [user(0)] }),
  });
  await stage.execute(await stage.wish([0], 1));
  expect(await stage.story()).toEqual(Array(2).fill('accepted accepted200'));
  expect(await stage.shown([0, 1])).toEqual([null, null]);
});

const channelOf = async ({ db }: { db: Parameters<typeof columnOf>[0] }) =>
  String((await columnOf(db, 'select channel_id from line_oa'))[0]);

test('a message that comes twice, even at the same moment, asks LINE once', async () => {
  const stage = await menuStage();
  const tickets = await stage.wish([0, 1, 2], 0);
  await Promise.all([stage.execute(tickets), stage.execute(tickets), stage.execute(tickets)]);
  expect(stage.requests()).toEqual({ 'POST user/:user/richmenu/:menu': 3 });
  await expectSettled(stage, [0, 1, 2]);
});

test('a wish whose turn comes after a newer one is not asked for, and ends as superseded', async () => {
  const stage = await menuStage();
  const older = await stage.wish([0], 0);
  await stage.execute(await stage.wish([0], 1));
  await stage.execute(older);
  expect(await stage.story()).toEqual(['cancelled superseded', 'accepted accepted200']);
  await expectSettled(stage, [0]);
});

test('while LINE is asked for one wish of a person, a newer one waits', async () => {
  const stage = await menuStage();
  stage.faults({ match: { endpoint: 'richmenu/link', nth: [1] }, effect: { type: 'latency', ms: 300 } });
  const older = stage.execute(await stage.wish([0], 0));
  await expect.poll(() => columnOf(stage.db, `select 1 from delivery where status = 'sending'`)).toHaveLength(1);
  await stage.execute(await stage.wish([0], 1));
  expect((await stage.story())[1]).toBe('planned');
  await older;
  await stage.executeAll();
  expect(await stage.story()).toEqual(Array(2).fill('accepted accepted200'));
  await expectSettled(stage, [0]);
});

const FAULTS = [
  ['answers 500 after it did it', { phase: 'afterAccept', effect: { type: 'status', status: 500 } }, 'ambiguous500'],
  ['answers 503 before it did it', { effect: { type: 'html' } }, 'ambiguous503'],
  ['does not answer in time', { phase: 'afterAccept', effect: { type: 'hang' } }, 'ambiguous'],
  ['breaks off the answer', { effect: { type: 'truncate' } }, 'ambiguous200'],
  ['limits the rate', { effect: { type: 'rateLimit' } }, 'throttled429'],
] as const;

test.for(FAULTS)('when LINE %s, it is asked again for the same', async ([, fault, first]) => {
  const stage = await menuStage({ attemptTimeoutMs: 500 });
  stage.faults({ max: 2, ...fault });
  await stage.execute([...(await stage.wish([0], 0)), ...(await stage.wish([1], null))]);
  await stage.executeAll();
  expect(await stage.story()).toEqual(Array(2).fill(`accepted ${first},accepted200`));
  await expectSettled(stage, [0, 1]);
});

test('after a crash between LINE’s answer and its record it is asked again for the same', async () => {
  const stage = await menuStage();
  const tickets = await stage.wish([0], 0);
  void stage.execute(tickets, { settle: () => new Promise(() => undefined) }); // dies before it writes
  await expect.poll(() => stage.shown([0])).toEqual([0]);
  expect(await takeBack(stage.db)).toBe(1);
  await stage.executeAll();
  expect(await stage.story()).toEqual(['accepted ?,accepted200']);
  await expectSettled(stage, [0]);
});

test('an older request that arrives after the newer one was answered is found and put right', async () => {
  const stage = await menuStage({ settleSeconds: 2, attemptTimeoutMs: 500 });
  stage.faults({
    match: { endpoint: 'richmenu/link', nth: [1] },
    phase: 'beforeAccept',
    effect: { type: 'latency', ms: 1_200 },
  });
  await stage.execute(await stage.wish([0], 0)); // given up after 500 ms
  await stage.execute(await stage.wish([0], 1));
  expect(await stage.shown([0])).toEqual([1]);
  expect(await stage.story()).toEqual(['planned ambiguous ambiguous', 'planned ambiguous ambiguous200']);
  await expect.poll(() => stage.shown([0]), { timeout: 15_000 }).toEqual([0]); // the older one has arrived
  await stage.executeAll();
  expect(await stage.story()).toEqual(['cancelled superseded ambiguous', 'accepted ambiguous200,accepted200']);
  await expectSettled(stage, [0]);
});

test('an answer that nothing overtook is believed after a look, without asking anew', async () => {
  const stage = await menuStage({ settleSeconds: 1, attemptTimeoutMs: 500 });
  stage.faults({ match: { endpoint: 'richmenu/link', nth: [1] }, phase: 'afterAccept', effect: { type: 'hang' } });
  await stage.execute(await stage.wish([0], 0));
  await stage.execute(await stage.wish([0], 1));
  await stage.executeAll();
  expect((await stage.story())[1]).toBe('accepted ambiguous200,already200');
  expect(stage.requests()).toMatchObject({ 'POST user/:user/richmenu/:menu': 2, 'GET user/:user/richmenu': 1 });
  await expectSettled(stage, [0]);
});

const REFUSALS: readonly (readonly [name: string, people: readonly number[]])[] = [
  ['one person', [0]],
  ['many, whom one request is for', Array.from({ length: 25 }, (_, n) => n)],
];

test.for(REFUSALS)(
  'a menu that LINE does not have any more is refused, and a person hears of it: %s',
  async ([, people]) => {
    const stage = await menuStage();
    const gone = { method: 'DELETE', headers: { authorization: 'Bearer a-token' } };
    await fetch(`${stage.simulator.apiUrl}/v2/bot/richmenu/richmenu-1`, gone);
    await stage.execute(await stage.wish(people, 0));
    expect(await stage.story()).toEqual(people.map(() => 'refused refused refused404'));
    const items = await columnOf(
      stage.db,
      `select user_id from attention_item where kind = 'delivery_refused' and status = 'open' order by 1`,
    );
    expect(items).toEqual(people.map(user).sort());
  },
);

test('an attempt that is in doubt does not keep a menu that is gone from being refused', async () => {
  const stage = await menuStage();
  stage.faults({ max: 1, effect: { type: 'status', status: 500 } });
  await stage.execute(await stage.wish([0], 0));
  await fetch(`${stage.simulator.apiUrl}/v2/bot/richmenu/richmenu-1`, {
    method: 'DELETE',
    headers: { authorization: 'Bearer a-token' },
  });
  await stage.executeAll();
  expect(await stage.story()).toEqual(['refused refused ambiguous500,refused404']);
});

test('what a person sends again is left out when a newer wish has overtaken it', async () => {
  const stage = await menuStage();
  stage.faults({ max: 1, effect: { type: 'status', status: 400 } });
  const [refused] = await stage.wish([0], 0);
  await stage.execute(refused === undefined ? [] : [refused]);
  await stage.execute(await stage.wish([0], 1));
  const ids = [refused?.id ?? ''];
  await inTransaction(stage.db, (tx) => resendDeliveries(tx, stage.tenant, { ids, acceptDuplicates: false }));
  await stage.executeAll();
  expect((await stage.story())[0]).toBe('cancelled superseded refused400');
  await expectSettled(stage, [0]);
});

test('a body that was changed behind the product’s back is never asked for', async () => {
  const stage = await menuStage();
  const tickets = await stage.wish([0, 1], 0);
  await stage.db.$client.query(
    `alter table delivery disable trigger delivery_content_is_fixed; update delivery set body = '{}' where user_id = '${user(1)}'`,
  );
  await stage.execute(tickets);
  expect(await stage.story()).toEqual(['accepted accepted200', 'refused refused refused']);
});

test('a menu makes no sound, and is switched in quiet hours', async () => {
  const stage = await menuStage();
  await stage.db.$client.query(`update line_oa set quiet_from = '00:00', quiet_to = '23:59', quiet_policy = 'shift'`);
  await stage.execute(await stage.wish([0], 0));
  await expectSettled(stage, [0]);
});

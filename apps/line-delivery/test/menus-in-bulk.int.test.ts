import { columnOf } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { expectSettled, menuStage, user } from './menu-stage.ts';

const MANY = Array.from({ length: 40 }, (_, n) => n);
const SINGLE = 'POST user/:user/richmenu/:menu';
const LOOK = 'GET user/:user/richmenu';

test.for([
  [0, 'link'],
  [null, 'unlink'],
] as const)(
  'many who want the same (%s) are asked for at once, and believed after a look at five of them',
  async ([menu, path]) => {
    const stage = await menuStage();
    if (menu === null) for (const n of MANY) await stage.execute(await stage.wish([n], 1));
    const before = stage.requests();
    await stage.execute(await stage.wish(MANY, menu));
    expect((await stage.story()).slice(-40)).toEqual(MANY.map(() => 'planned ambiguous ambiguous202'));
    await stage.executeAll();

    const { [`POST richmenu/bulk/${path}`]: bulks, [LOOK]: looks, [SINGLE]: singles } = stage.requests();
    expect({ bulks, looks, singles }).toEqual({ bulks: 1, looks: 5, singles: before[SINGLE] });
    expect(new Set((await stage.story()).slice(-40))).toEqual(
      new Set(['accepted ambiguous202,already200', 'accepted ambiguous202,already']),
    );
    await expectSettled(stage, MANY);
  },
);

test('a bulk that LINE took with 202 and did not do is found by the sample, and everybody is linked again [T27]', async () => {
  const stage = await menuStage();
  stage.faults({ match: { endpoint: 'richmenu/bulk/link' }, max: 1, effect: { type: 'withoutEffect' } });
  await stage.execute(await stage.wish(MANY, 0));
  expect(await columnOf(stage.db, `select 1 from delivery where status = 'accepted'`)).toEqual([]);
  expect(await stage.shown(MANY)).toEqual(MANY.map(() => null));
  await stage.executeAll();

  expect(await stage.story()).toEqual(MANY.map(() => 'accepted ambiguous202,accepted200'));
  await expectSettled(stage, MANY);
});

test('one who is found without their menu is linked alone, and the others are looked at', async () => {
  const stage = await menuStage();
  await fetch(`${stage.simulator.controlUrl}/__sim/users/block`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      channelId: String((await columnOf(stage.db, 'select channel_id from line_oa'))[0]),
      userIds: [user(0)],
    }),
  });
  await stage.execute(await stage.wish(MANY, 0));
  await stage.executeAll();
  expect(stage.requests()).toMatchObject({ 'POST richmenu/bulk/link': 1, [LOOK]: 40, [SINGLE]: 1 });
  expect(await columnOf(stage.db, 'select distinct status from delivery')).toEqual(['accepted']);
  await expectSettled(stage, MANY.slice(1));
});

test.for([
  ['answered 500', { phase: 'afterAccept', effect: { type: 'status', status: 500 } }],
  ['not answered in time', { phase: 'afterAccept', effect: { type: 'hang' } }],
] as const)('a bulk that is %s is asked for one by one', async ([, fault]) => {
  const stage = await menuStage({ attemptTimeoutMs: 2_000 });
  stage.faults({ match: { endpoint: 'richmenu/bulk/link' }, max: 1, ...fault });
  await stage.execute(await stage.wish(MANY, 0));
  await stage.executeAll();
  expect(stage.requests()).toEqual({ 'POST richmenu/bulk/link': 1, [SINGLE]: 40 });
  await expectSettled(stage, MANY);
});

test('a bulk that is applied after a newer wish of one of its people was answered is put right', async () => {
  const stage = await menuStage({ bulkDelayMs: 800, settleSeconds: 2 });
  await stage.execute(await stage.wish(MANY, 0));
  await stage.execute(await stage.wish([3], 1));
  expect(await stage.shown([3])).toEqual([1]);
  await expect.poll(() => stage.shown([3]), { timeout: 15_000 }).toEqual([0]); // the bulk is applied
  await stage.executeAll();
  expect((await stage.story()).at(-1)).toBe('accepted ambiguous200,accepted200');
  expect(await columnOf(stage.db, `select user_id from delivery where reason_code = 'superseded'`)).toEqual([user(3)]);
  await expectSettled(stage, MANY);
});

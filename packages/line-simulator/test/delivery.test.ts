import { describe, expect, test } from 'vitest';
import { nthUserId } from '../src/index.ts';
import {
  BROADCAST,
  CHANNEL,
  call,
  codes,
  control,
  key,
  MULTICAST,
  manualClock,
  PUSH,
  start,
  text,
  user,
} from './support.ts';

const lidText = (lid: string) => text(`sale! [[lid:${lid}]]`);

describe('receipts', () => {
  test('are written for friends only; the blocked, deleted, strange and unknown are accepted all the same', async () => {
    const simulator = await start({
      users: [
        { prefix: 'a', count: 3 },
        { prefix: 'b', count: 1, state: 'stranger' },
        { ids: [nthUserId('c', 7)], state: 'deleted' },
      ],
    });
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(1)] });
    const unknown = nthUserId('d', 0);
    const to = [user(0), user(1), user(2), nthUserId('b', 0), nthUserId('c', 7), unknown];
    const answer = await call(simulator, MULTICAST, {
      body: { to, messages: [lidText('c:42:1')] },
      retryKey: key(1),
    });
    expect(answer).toMatchObject({ status: 200, body: {} });
    expect([...simulator.ledger.receipts()]).toEqual([
      {
        seq: 1,
        acceptSeq: 1,
        channelId: CHANNEL,
        user: user(0),
        lid: 'c:42:1',
        at: '2026-12-01T00:00:00.000Z',
        requestId: answer.requestId,
        retryKey: key(1),
      },
      expect.objectContaining({ seq: 2, user: user(2) }),
    ]);
    const [accept] = simulator.ledger.accepts();
    expect(accept).toMatchObject({ delivered: 2, lids: ['c:42:1'], path: MULTICAST });
    expect(accept?.suppressed).toEqual([
      { user: user(1), why: 'blocked' },
      { user: nthUserId('b', 0), why: 'stranger' },
      { user: nthUserId('c', 7), why: 'deleted' },
      { user: unknown, why: 'unknown' },
    ]);
    expect(simulator.ledger.summary()).toEqual([
      { channelId: CHANNEL, lid: 'c:42:1', receipts: 2, distinctUsers: 2, maxPerUser: 1, suppressed: 4, dropped: 0 },
    ]);
    expect([...simulator.ledger.violations()]).toMatchObject([{ code: 'V11', user: unknown }]);
  });

  test('of a broadcast go to everyone who is a friend at that moment', async () => {
    const simulator = await start();
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(1), user(2)] });
    await control(simulator, '/users/unblock', { channelId: CHANNEL, userIds: [user(2)] });
    await call(simulator, BROADCAST, { body: { messages: [lidText('c:1:1')] }, retryKey: key(1) });
    expect(simulator.ledger.summary()).toMatchObject([{ receipts: 9, distinctUsers: 9, suppressed: 0 }]);
  });

  test('carry the logical id from any string of any message', async () => {
    const simulator = await start();
    const flex = { type: 'flex', altText: 'x', contents: { body: [{ text: 'a [[lid:c:2:1]] b' }] } };
    await call(simulator, PUSH, { body: { to: user(0), messages: [flex] }, retryKey: key(1) });
    await call(simulator, PUSH, { body: { to: user(0), messages: [text('[[lid:no spaces]]')] }, retryKey: key(2) });
    expect([...simulator.ledger.receipts()].map((row) => row.lid)).toEqual(['c:2:1', null]);
  });

  test('of one logical send under a second key are V12', async () => {
    const simulator = await start();
    const body = { to: [user(0), user(1)], messages: [lidText('c:1:1')] };
    await call(simulator, MULTICAST, { body, retryKey: key(1) });
    await call(simulator, PUSH, { body: { to: user(0), messages: [lidText('c:1:2')] }, retryKey: key(2) });
    expect(codes(simulator)).toEqual([]);
    await call(simulator, MULTICAST, { body, retryKey: key(3) });
    expect([...simulator.ledger.violations()]).toMatchObject([
      { code: 'V12', lid: 'c:1:1', user: user(0), detail: '2 in this request', retryKey: key(3) },
    ]);
    expect(simulator.ledger.summary({ lid: 'c:1:1' })).toMatchObject([
      { receipts: 4, distinctUsers: 2, maxPerUser: 2 },
    ]);
  });

  test.each([
    ['deliverEach', 2],
    ['collapse', 1],
  ] as const)('of a user named twice are V9 (%s)', async (duplicateTo, receipts) => {
    const simulator = await start({ knobs: { duplicateTo } });
    await call(simulator, MULTICAST, { body: { to: [user(0), user(0)], messages: [lidText('c')] }, retryKey: key(1) });
    expect([...simulator.ledger.receipts()]).toHaveLength(receipts);
    expect(codes(simulator)).toEqual(['V9']);
  });

  test('of a multicast that names an unknown user are none where LINE is set to refuse it', async () => {
    const simulator = await start({ knobs: { multicastUnknownUser: 'reject400' } });
    const body = { to: [user(0), user(99)], messages: [text('x')] };
    expect(await call(simulator, MULTICAST, { body, retryKey: key(1) })).toMatchObject({
      status: 400,
      body: { message: 'The property, to[1], in the request body is invalid (line: -, column: -)' },
    });
    expect([...simulator.ledger.receipts()]).toEqual([]);
  });
});

describe('limits', () => {
  const push = (n: number) => ({ body: { to: user(n), messages: [text('x')] }, retryKey: key(n + 1) });

  test('the monthly one counts those who received, refuses a send as a whole, and starts anew by Tokyo’s calendar', async () => {
    const clock = manualClock('2026-11-30T14:59:59.000Z');
    const simulator = await start({ quota: { type: 'limited', value: 3 } }, clock);
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(9)] });
    const to = (...ns: number[]) => ({ to: ns.map(user), messages: [text('x')] });
    const usage = async () => (await call(simulator, '/v2/bot/message/quota/consumption')).body.totalUsage;
    await call(simulator, MULTICAST, { body: to(0, 1, 9), retryKey: key(1) });
    expect(await usage()).toBe(2);
    expect(await call(simulator, MULTICAST, { body: to(0, 1), retryKey: key(2) })).toMatchObject({
      status: 429,
      body: { message: 'You have reached your monthly limit.' },
    });
    expect(await call(simulator, MULTICAST, { body: to(0, 9), retryKey: key(3) })).toMatchObject({ status: 200 });
    expect(await usage()).toBe(3);
    expect((await call(simulator, '/v2/bot/message/quota')).body).toEqual({ type: 'limited', value: 3 });
    clock.advance(1_000);
    expect(await usage()).toBe(0);
    expect(await call(simulator, MULTICAST, { body: to(0, 1), retryKey: key(2) })).toMatchObject({ status: 200 });
    expect([...simulator.ledger.receipts()]).toHaveLength(5);
  });

  test('the monthly one can count those who are named instead', async () => {
    const simulator = await start({ quota: { type: 'limited', value: 1 }, knobs: { quotaCounts: 'requested' } });
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(1)] });
    const body = { to: [user(0), user(1)], messages: [text('x')] };
    expect(await call(simulator, MULTICAST, { body, retryKey: key(1) })).toMatchObject({ status: 429 });
  });

  test('the rate is kept per endpoint and comes back with time', async () => {
    const clock = manualClock();
    const simulator = await start({ knobs: { limits: { push: { count: 2, perMs: 1_000 } } } }, clock);
    const statuses = [];
    for (const n of [0, 1, 2]) statuses.push((await call(simulator, PUSH, push(n))).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await call(simulator, PUSH, push(2))).body).toEqual({
      message: 'The API rate limit has been exceeded. Try again later.',
    });
    expect(await call(simulator, '/v2/bot/info')).toMatchObject({ status: 200 });
    clock.advance(500);
    expect(await call(simulator, PUSH, push(2))).toMatchObject({ status: 200 });
  });

  test('sixty broadcasts fit in an hour, and the next one does not', async () => {
    const simulator = await start();
    const broadcast = async (n: number) =>
      (await call(simulator, BROADCAST, { body: { messages: [text('x')] }, retryKey: key(n) })).status;
    const statuses = [];
    for (let n = 0; n < 61; n += 1) statuses.push(await broadcast(n));
    expect(statuses).toEqual([...Array<number>(60).fill(200), 429]);
  });
});

import { describe, expect, test } from 'vitest';
import { BROADCAST, CHANNEL, call, control, key, MULTICAST, PUSH, start, text, user } from './support.ts';

describe('the control API', () => {
  test('reads the ledger as JSON lines, by place, lid, user and channel', async () => {
    const simulator = await start();
    for (const n of [0, 1, 2]) {
      const body = { to: [user(n), user(9)], messages: [text(`[[lid:c:${n}:1]]`)] };
      await call(simulator, MULTICAST, { body, retryKey: key(n) });
    }
    const users = async (query: string) =>
      ((await control(simulator, `/ledger/receipts${query}`)) as { user: string }[]).map((row) => row.user);
    expect(await users('')).toHaveLength(6);
    expect(await users('?since=4')).toEqual([user(2), user(9)]);
    expect(await users('?lid=c:1:1&format=jsonl')).toEqual([user(1), user(9)]);
    expect(await users(`?user=${user(9)}`)).toHaveLength(3);
    expect(await users(`?user=${user(9)}&lid=c:0:1`)).toHaveLength(1);
    expect(await users(`?channel=${CHANNEL}&user=${user(4)}`)).toEqual([]);
    expect(await users('?channel=other')).toEqual([]);
    expect(await control(simulator, '/ledger/requests?since=2')).toMatchObject([
      {
        seq: 3,
        method: 'POST',
        path: MULTICAST,
        toCount: 2,
        status: 200,
        bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
    expect(await control(simulator, '/ledger/accepts?lid=c:2:1')).toMatchObject([{ seq: 3, delivered: 2 }]);
    expect(await control(simulator, '/ledger/violations')).toEqual([]);
    expect(await control(simulator, '/ledger/summary?lid=c:0:1')).toMatchObject({ lids: [{ receipts: 2 }] });
  });

  test('moves its clock forward, and with it the window of a retry key', async () => {
    const simulator = await start();
    const body = { to: user(1), messages: [text('[[lid:c:1:1]]')] };
    const status = async () => (await call(simulator, PUSH, { body, retryKey: key(1) })).status;
    expect([await status(), await status()]).toEqual([200, 409]);
    await control(simulator, '/clock', { aheadMs: 86_400_000 - 60_000 });
    expect(await status()).toBe(409);
    await control(simulator, '/clock', { aheadMs: 86_400_000 });
    expect(await status()).toBe(200);
    const receipts = (await control(simulator, '/ledger/receipts')) as { at: string }[];
    const [first = '', second = ''] = receipts.map(({ at }) => at);
    expect(Date.parse(second) - Date.parse(first)).toBeGreaterThanOrEqual(86_400_000);
    expect(await control(simulator, '/clock', { aheadMs: 1 })).toEqual({
      message: expect.stringContaining('time only moves forward'),
    });
  });

  test('adds and replaces channels while running', async () => {
    const simulator = await start();
    const other = { channelId: '2', channelAccessToken: 'token-2', users: [{ prefix: 'a', count: 3 }] };
    expect(await control(simulator, '/channels', { channels: [other] })).toEqual({ channels: 1 });
    const body = { messages: [text('[[lid:c:1:1]]')] };
    await call(simulator, BROADCAST, { body, retryKey: key(1) });
    await call(simulator, BROADCAST, { body, retryKey: key(2), token: 'token-2' });
    await control(simulator, '/channels', { channels: [{ ...other, users: [{ prefix: 'b', count: 1 }] }] });
    await call(simulator, BROADCAST, { body, retryKey: key(3), token: 'token-2' });
    expect(simulator.ledger.summary().map((row) => [row.channelId, row.receipts])).toEqual([
      [CHANNEL, 10],
      ['2', 3],
      ['2', 1],
    ]);
  });

  test.each([
    [
      'users in two groups',
      {
        users: [
          { prefix: 'a', count: 1 },
          { prefix: 'a0', count: 1 },
        ],
      },
    ],
    ['a listed user who is in a group', { users: [{ prefix: 'a', count: 1 }, { ids: [user(0)] }] }],
    ['the token of another channel', { channelId: '2', channelAccessToken: 'token-1' }],
    ['a misspelt field', { chanelId: '2' }],
  ])('refuses %s and changes nothing', async (_name, change) => {
    const simulator = await start();
    const channel = { channelId: '2', channelAccessToken: 'token-2', ...change };
    expect(await control(simulator, '/channels', { channels: [channel] })).toMatchObject({
      message: expect.any(String),
    });
    expect(await call(simulator, '/v2/bot/info', { token: 'token-2' })).toMatchObject({ status: 401 });
    expect(await call(simulator, '/v2/bot/info')).toMatchObject({ status: 200 });
  });

  test('forgets everything on reset, and the users are as they were set up', async () => {
    const simulator = await start({ quota: { type: 'limited', value: 1 } });
    const push = { body: { to: user(0), messages: [text('[[lid:x]]')] }, retryKey: key(1) };
    await call(simulator, PUSH, push);
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(0)] });
    await control(simulator, '/reset', {});
    expect(await control(simulator, '/ledger/requests')).toEqual([]);
    expect(simulator.ledger.summary()).toEqual([]);
    expect(await call(simulator, PUSH, push)).toMatchObject({ status: 200 });
    expect([...simulator.ledger.receipts()]).toHaveLength(1);
    expect(await control(simulator, '/metrics')).toMatchObject({
      requests: 1,
      inFlight: 0,
      internalErrors: 0,
      throttled: 0,
      endpoints: { push: { 200: 1 } },
    });
  });

  test('lets LINE forget users: they are those of before in the ledger, and a push to them is refused as to strangers', async () => {
    const simulator = await start({ knobs: { multicastUnknownUser: 'reject400' } });
    const messages = [text('[[lid:x]]')];
    await call(simulator, PUSH, { body: { to: user(0), messages }, retryKey: key(1) });
    await control(simulator, '/users/forget', { channelId: CHANNEL, userIds: [user(0)] });
    const push = await call(simulator, PUSH, { body: { to: user(0), messages }, retryKey: key(2) });
    const multicast = await call(simulator, MULTICAST, {
      body: { to: [user(1), user(0)], messages },
      retryKey: key(3),
    });
    expect([push.status, multicast.status]).toEqual([400, 400]);
    await call(simulator, BROADCAST, { body: { messages }, retryKey: key(4) });
    expect([...simulator.ledger.receipts({ user: user(0) })]).toHaveLength(1);
    expect([...simulator.ledger.violations()].map(({ code }) => code)).toEqual(['V11', 'V11']);
  });

  test('refuses to block users of a channel that is not there', async () => {
    const answer = await control(await start(), '/users/block', { channelId: 'x', userIds: [] });
    expect(answer).toMatchObject({ message: 'PermanentError: no such channel' });
  });
});

test('a million friends and their receipts fit in bounded memory', { timeout: 20_000 }, async () => {
  const simulator = await start({ users: [{ prefix: 'a', count: 1_000_000 }] });
  const before = process.memoryUsage().arrayBuffers;
  await call(simulator, BROADCAST, { body: { messages: [text('[[lid:c:1:1]]')] }, retryKey: key(1) });
  expect(simulator.ledger.summary()).toMatchObject([{ receipts: 1_000_000, distinctUsers: 1_000_000, maxPerUser: 1 }]);
  const [last] = simulator.ledger.receipts({ user: user(999_999) });
  expect(last).toMatchObject({ seq: 1_000_000, user: user(999_999) });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(250_000_000);
});

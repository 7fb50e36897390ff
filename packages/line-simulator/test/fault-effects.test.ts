import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import type { FaultRule } from '../src/index.ts';
import { attempt, newAgent, only, push, rowsOf } from './fault-support.ts';
import { CHANNEL, call, codes, control, key, MULTICAST, manualClock, PUSH, start, text, user } from './support.ts';

const limited = (value: number) => ({ quota: { type: 'limited', value } }) as const;
const consumption = async (simulator: Awaited<ReturnType<typeof start>>) => ({
  quota: (await call(simulator, '/v2/bot/message/quota')).body,
  used: (await call(simulator, '/v2/bot/message/quota/consumption')).body.totalUsage,
});
const monthly = { status: 429, text: expect.stringContaining('You have reached your monthly limit.') };

test('F03: the monthly limit holds until the quota is raised, and the quota says so', { timeout: 30_000 }, async () => {
  const simulator = await start(limited(100));
  simulator.faults.set(only({ max: 1, effect: { type: 'monthlyLimit' } }));
  expect(await attempt(simulator)).toMatchObject(monthly);
  expect(await attempt(simulator)).toMatchObject(monthly);
  expect(await consumption(simulator)).toEqual({ quota: { type: 'limited', value: 100 }, used: 100 });
  simulator.scenario.setQuota(CHANNEL, { type: 'limited', value: 101 });
  expect(await attempt(simulator)).toMatchObject({ status: 200 });
  expect(await consumption(simulator)).toEqual({ quota: { type: 'limited', value: 101 }, used: 101 });
  expect(rowsOf(simulator).receipts).toHaveLength(1);
});

test.each(['as a rule', 'as a move'])(
  'F03b, %s: a narrowcast holds the quota back, which the quota does not show',
  async (how) => {
    const clock = manualClock();
    const simulator = await start(limited(100), clock);
    if (how === 'as a move') simulator.scenario.startNarrowcastReservation(CHANNEL, 100, 300_000);
    else simulator.faults.set(only({ max: 1, effect: { type: 'reservation', ms: 300_000 } }));
    expect(await attempt(simulator)).toMatchObject(monthly);
    expect(await consumption(simulator)).toEqual({ quota: { type: 'limited', value: 100 }, used: 0 });
    clock.advance(299_999);
    expect(await attempt(simulator)).toMatchObject(monthly);
    clock.advance(1);
    expect(await attempt(simulator)).toMatchObject({ status: 200 });
  },
);

test('messages sent by other means count against the quota', async () => {
  const simulator = await start(limited(5));
  simulator.scenario.consumeOutside(CHANNEL, 5);
  expect(await attempt(simulator)).toMatchObject(monthly);
  expect(await consumption(simulator)).toMatchObject({ used: 5 });
});

test('F15: a send that its client gave up is accepted later all the same', async () => {
  const simulator = await start();
  simulator.faults.set(only({ max: 1, effect: { type: 'lateAccept', ms: 600 } }));
  expect(await attempt(simulator, { timeoutMs: 200 })).toEqual({ failure: 'TimeoutError' });
  expect(rowsOf(simulator).accepts).toEqual([]);
  await expect.poll(() => rowsOf(simulator).receipts).toHaveLength(1);
  expect(rowsOf(simulator).requests).toMatchObject([
    { clientAborted: true, phaseReached: 'afterAccept', faultId: 'f' },
  ]);
  expect(await attempt(simulator)).toMatchObject({ status: 409 });
  expect(codes(simulator)).toEqual([]);
});

test('F16: 200 without delivery is accepted, reaches nobody, costs nothing, and its key answers 409', async () => {
  const simulator = await start(limited(10));
  simulator.faults.set(only({ max: 1, effect: { type: 'withoutDelivery' } }));
  const multicast = { path: MULTICAST, body: { to: [user(0), user(1)], messages: [text('[[lid:c:1:1]]')] } };
  expect(await attempt(simulator, multicast)).toMatchObject({ status: 200, text: '{}' });
  expect(await attempt(simulator, multicast)).toMatchObject({ status: 409 });
  expect(rowsOf(simulator)).toMatchObject({ accepts: [{ dropped: true, delivered: 0, suppressed: [] }], receipts: [] });
  expect(simulator.ledger.summary()).toMatchObject([{ lid: 'c:1:1', receipts: 0, suppressed: 0, dropped: 2 }]);
  expect(await consumption(simulator)).toMatchObject({ used: 0 });
  await attempt(simulator, { ...multicast, retryKey: key(2) });
  expect(codes(simulator)).toEqual(['V12']);
});

test('F17: a rich menu is linked with 200, and is not', async () => {
  const simulator = await start({ richMenuIds: ['richmenu-1'] });
  simulator.faults.set(only({ match: { endpoint: 'richmenu/link' }, max: 1, effect: { type: 'withoutEffect' } }));
  const menu = `/v2/bot/user/${user(0)}/richmenu`;
  const statuses: number[] = [];
  for (const [path, method] of [
    [`${menu}/richmenu-1`, 'POST'],
    [menu, 'GET'],
    [`${menu}/richmenu-1`, 'POST'],
    [menu, 'GET'],
  ] as const) {
    statuses.push((await call(simulator, path, { method })).status);
  }
  expect(statuses).toEqual([200, 404, 200, 200]);
});

test('F20: a token that was revoked is refused until there is another, or the faults end', async () => {
  const simulator = await start();
  simulator.faults.set(only({ match: { nth: [2] }, effect: { type: 'revokeToken' } }));
  const status = async (token: string, n: number) =>
    (await attempt(simulator, { token, retryKey: key(n), body: push(n) })).status;
  expect([await status('token-1', 1), await status('token-1', 2), await status('token-1', 3)]).toEqual([200, 401, 401]);
  expect(await status('unknown', 4)).toBe(401);
  simulator.faults.clear();
  expect(await status('token-1', 2)).toBe(200);
  simulator.faults.set(only({ effect: { type: 'revokeToken' }, max: 1 }));
  expect(await status('token-1', 5)).toBe(401);
  const channel = { channelId: CHANNEL, channelAccessToken: 'token-2', users: [{ prefix: 'a', count: 10 }] };
  await control(simulator, '/channels', { channels: [channel] });
  expect(await status('token-2', 5)).toBe(200);
});

test('F22: a poison user is named by its place, and the rest can be sent to', async () => {
  const simulator = await start();
  simulator.faults.set(only({ effect: { type: 'poison', users: [user(1), user(2)] } }));
  const send = (to: string[], retryKey: string) =>
    attempt(simulator, { path: MULTICAST, body: { to, messages: [text('x')] }, retryKey });
  expect(await send([user(0), user(2), user(1)], key(1))).toMatchObject({
    status: 400,
    text: expect.stringContaining('The property, to[1], in the request body is invalid (line: -, column: -)'),
  });
  expect(await send([user(0)], key(2))).toMatchObject({ status: 200 });
});

test('F24: a request that follows a redirect is answered like any other, and is V7', async () => {
  const simulator = await start();
  simulator.faults.set(only({ effect: { type: 'redirect', status: 307 } }));
  // A client that follows, which the product's must not.
  const followed = await call(simulator, PUSH, { body: push(), retryKey: key(1) });
  expect(followed).toMatchObject({ status: 200, requestId: expect.any(String) });
  expect([...simulator.ledger.violations()]).toMatchObject([{ code: 'V7', channelId: CHANNEL, detail: 'POST' }]);
  expect(rowsOf(simulator).receipts).toEqual([]);
});

test.each(['down', 'blackHole'] as const)(
  'F26: the API goes %s, in the middle of a request and on request, and comes back',
  async (state) => {
    const simulator = await start();
    const dead = state === 'down' ? 'ECONNREFUSED' : 'TimeoutError';
    const timeoutMs = state === 'down' ? 20_000 : 200;
    await simulator.scenario.listener(state);
    expect(await attempt(simulator, { timeoutMs })).toEqual({ failure: dead });
    await simulator.scenario.listener('up');
    expect(rowsOf(simulator).requests).toEqual([]);
    simulator.faults.set(only({ max: 1, effect: { type: state, ms: 500 } }));
    expect(await attempt(simulator)).toEqual({ failure: 'ECONNRESET' });
    await expect.poll(async () => (await attempt(simulator, { timeoutMs: 100 })).status, { timeout: 15_000 }).toBe(200);
    expect(rowsOf(simulator).receipts).toHaveLength(1);
  },
);

test('F27: an idle connection is closed as the next request arrives on it; a new one is not', async () => {
  const simulator = await start();
  const agent = newAgent();
  simulator.faults.set(only({ max: 1, effect: { type: 'closeIdle' } }));
  expect(await attempt(simulator, { agent })).toMatchObject({ status: 200 });
  const second = { agent, retryKey: key(2), body: push(2) };
  expect(await attempt(simulator, second)).toEqual({ failure: 'UND_ERR_SOCKET' });
  expect(await attempt(simulator, second)).toMatchObject({ status: 200 });
  expect(rowsOf(simulator).accepts).toHaveLength(2);
});

test('F28, a control that a history check must find: a key that LINE forgets is accepted twice', async () => {
  const simulator = await start();
  simulator.faults.set(only({ effect: { type: 'forgetKey' } }));
  expect(await attempt(simulator)).toMatchObject({ status: 200 });
  expect(await attempt(simulator)).toMatchObject({ status: 200 });
  expect(simulator.ledger.summary()).toMatchObject([{ receipts: 2, maxPerUser: 2 }]);
});

test.each<FaultRule['effect']>([
  { type: 'hang' },
  { type: 'lateAccept', ms: 60_000 },
  { type: 'blackHole', ms: 60_000 },
])('a simulator that closes in the middle of $type lets its clients go and frees its port', async (effect) => {
  const simulator = await start();
  simulator.faults.set(only({ effect }));
  const pending = attempt(simulator);
  await expect.poll(() => rowsOf(simulator).requests).toHaveLength(1);
  await simulator.close();
  expect(rowsOf(simulator).accepts).toEqual([]);
  expect(await pending).toEqual({ failure: expect.any(String) });
  const next = createServer();
  await new Promise<void>((resolve, reject) => {
    next.once('error', reject);
    next.listen(Number(new URL(simulator.apiUrl).port), '127.0.0.1', resolve);
  });
  await new Promise((resolve) => next.close(resolve));
});

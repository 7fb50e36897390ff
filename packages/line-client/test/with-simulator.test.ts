import { createSimulator, nthUserId } from '@dueline/line-simulator';
import { afterEach, expect, test } from 'vitest';
import { createLineClient } from '../src/index.ts';

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map(async (cleanup) => cleanup()));
});

const TOKEN = 'token-1';
const key = (n: number) => `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`;
const user = (n: number) => nthUserId('a', n);
const messages = [{ type: 'text', text: 'hi [[lid:c:1:1]]' }];

async function start(channel: { quota?: { type: 'limited'; value: number }; knobs?: object } = {}) {
  const users = [{ prefix: 'a', count: 3 }];
  const simulator = await createSimulator({
    channels: [{ channelId: '1', channelAccessToken: TOKEN, users, ...channel }],
  });
  const client = createLineClient({ baseUrl: simulator.apiUrl });
  cleanups.push(() => simulator.close(), client.close);
  const request = (n: number, body: unknown, channelAccessToken = TOKEN) => ({
    channelAccessToken,
    retryKey: key(n),
    body: JSON.stringify(body),
  });
  return { simulator, client, request };
}

test('a send is accepted once, and its repetition says so with the same ids', async () => {
  const { simulator, client, request } = await start();
  const push = request(1, { to: user(0), messages });
  const first = await client.push(push);
  expect(first).toMatchObject({ kind: 'accepted', sentMessageIds: [expect.stringMatching(/^\d{18}$/)] });
  if (first.kind !== 'accepted') return;
  expect(await client.push(push)).toMatchObject({
    kind: 'already',
    acceptedRequestId: first.requestId,
    sentMessageIds: first.sentMessageIds,
  });
  expect([...simulator.ledger.receipts()]).toMatchObject([{ user: user(0), lid: 'c:1:1', requestId: first.requestId }]);
  expect([...simulator.ledger.violations()]).toEqual([]);
});

test('multicast and broadcast reach whom they should', async () => {
  const { simulator, client, request } = await start();
  expect(await client.multicast(request(1, { to: [user(1), user(2)], messages }))).toMatchObject({ kind: 'accepted' });
  const other = [{ type: 'text', text: '[[lid:c:2:1]]' }];
  expect(await client.broadcast(request(2, { messages: other }))).toMatchObject({ kind: 'accepted' });
  expect(simulator.ledger.summary()).toMatchObject([
    { lid: 'c:1:1', receipts: 2 },
    { lid: 'c:2:1', receipts: 3 },
  ]);
});

test('what the simulator refuses is told by its kind', async () => {
  const limits = { broadcast: { count: 1, perMs: 3_600_000 } };
  const { client, request } = await start({ quota: { type: 'limited', value: 1 }, knobs: { limits } });
  expect(await client.push(request(1, { to: user(0), messages: [] }))).toEqual({
    kind: 'refused',
    status: 400,
    requestId: expect.any(String),
    detail: '400 The request body has 1 error(s); messages: Size must be between 1 and 5',
  });
  expect(await client.push(request(1, { to: user(0), messages }, 'other'))).toMatchObject({
    kind: 'auth',
    status: 401,
  });
  const broadcast = request(2, { messages });
  expect(await client.broadcast(broadcast)).toMatchObject({ kind: 'throttled', reason: 'monthly' });
  expect(await client.broadcast(broadcast)).toMatchObject({ kind: 'throttled', reason: 'rate' });
});

test('a simulator that is gone was not reached', async () => {
  const { simulator, client, request } = await start();
  await simulator.close();
  expect(await client.push(request(1, { to: user(0), messages }))).toMatchObject({ kind: 'not_reached' });
});

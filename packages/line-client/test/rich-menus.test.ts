import { createSimulator, type FaultRule, nthUserId } from '@dueline/line-simulator';
import { expect, onTestFinished, test } from 'vitest';
import { createLineClient } from '../src/index.ts';
import { rawServer } from './raw-server.ts';

const token = { channelAccessToken: 'token-1' };
const user = (n: number) => nthUserId('a', n);
const menu = { ...token, richMenuId: 'richmenu-1' };

async function start(...rules: readonly Omit<FaultRule, 'id'>[]) {
  const simulator = await createSimulator({
    channels: [
      {
        ...{ channelId: '1', ...token, users: [{ prefix: 'a', count: 3 }], richMenuIds: ['richmenu-1'] },
        knobs: { bulkDelayMs: 0 },
      },
    ],
  });
  simulator.faults.set({ rules: rules.map((rule, n) => ({ id: `${n}`, ...rule })) });
  const client = createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs: 2_000 });
  onTestFinished(async () => {
    client.close();
    await simulator.close();
  });
  const shown = async (n: number) => {
    const answer = await client.getRichMenu({ ...token, userId: user(n) });
    return answer.kind === 'shown' ? answer.richMenuId : answer;
  };
  return { simulator, client, shown };
}

test('a menu is linked, shown and unlinked, without a retry key, which LINE would refuse', async () => {
  const { simulator, client, shown } = await start();
  const done = { kind: 'done', requestId: expect.any(String) };
  expect(await client.linkRichMenu({ ...menu, userId: user(0) })).toEqual({ ...done, status: 200 });
  expect(await shown(0)).toBe('richmenu-1');
  expect(await client.unlinkRichMenu({ ...token, userId: user(0) })).toEqual({ ...done, status: 200 });
  expect(await shown(0)).toBeNull();
  expect(await client.linkRichMenus({ ...menu, userIds: [user(0), user(1)] })).toEqual({ ...done, status: 202 });
  expect([await shown(0), await shown(1), await shown(2)]).toEqual(['richmenu-1', 'richmenu-1', null]);
  expect(await client.unlinkRichMenus({ ...token, userIds: [user(1)] })).toEqual({ ...done, status: 202 });
  expect([await shown(0), await shown(1)]).toEqual(['richmenu-1', null]);
  expect([...simulator.ledger.violations()]).toEqual([]);
});

test('a menu that is not there and a person that cannot be are refused', async () => {
  const { client } = await start();
  const gone = { ...token, richMenuId: 'richmenu-9' };
  expect(await client.linkRichMenu({ ...gone, userId: user(0) })).toMatchObject({ kind: 'refused', status: 404 });
  expect(await client.linkRichMenus({ ...gone, userIds: [user(0)] })).toMatchObject({ kind: 'refused', status: 404 });
  expect(await client.linkRichMenu({ ...menu, userId: 'U1/../x' })).toMatchObject({ kind: 'refused', status: 400 });
  expect(await client.getRichMenu({ ...token, channelAccessToken: 'other', userId: user(0) })).toMatchObject({
    kind: 'auth',
  });
});

test.for([
  ['500', { effect: { type: 'status', status: 500 } }, 'ambiguous'],
  ['a page of a proxy', { effect: { type: 'html' } }, 'ambiguous'],
  ['an answer that breaks off', { effect: { type: 'truncate' } }, 'ambiguous'],
  ['a rate limit', { effect: { type: 'rateLimit' } }, 'throttled'],
  ['a redirect', { effect: { type: 'redirect' } }, 'ambiguous'],
] as const)('%s proves what it proves of a send', async ([, rule, kind]) => {
  const { client } = await start({ ...rule, max: 2 });
  expect(await client.linkRichMenu({ ...menu, userId: user(0) })).toMatchObject({ kind });
  expect(await client.linkRichMenus({ ...menu, userIds: [user(0)] })).toMatchObject({ kind });
});

const ANSWERS: readonly (readonly [what: string, head: string, body: string, kinds: object])[] = [
  [
    'no menu, said by LINE',
    '404 Not Found\r\nx-line-request-id: r1',
    '{"message":"none"}',
    { unlink: 'done', get: 'shown', link: 'refused' },
  ],
  [
    'nothing, said by a proxy',
    '404 Not Found',
    '<html></html>',
    { unlink: 'refused', get: 'refused', link: 'refused' },
  ],
  [
    'a success of another kind',
    '202 Accepted\r\nx-line-request-id: r1',
    '{}',
    { unlink: 'ambiguous', get: 'ambiguous', link: 'ambiguous' },
  ],
  [
    'a success without a menu',
    '200 OK\r\nx-line-request-id: r1',
    '{}',
    { unlink: 'done', get: 'ambiguous', link: 'done' },
  ],
];

test.for(ANSWERS)('what is answered with %s', async ([, head, body, kinds]) => {
  const server = await rawServer((socket) =>
    socket.end(`HTTP/1.1 ${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
  );
  const client = createLineClient({ baseUrl: server.url });
  onTestFinished(() => {
    client.close();
    server.close();
  });
  const one = { ...menu, userId: user(0) };
  const answers = { unlink: client.unlinkRichMenu(one), get: client.getRichMenu(one), link: client.linkRichMenu(one) };
  const got = await Promise.all(Object.entries(answers).map(async ([name, answer]) => [name, (await answer).kind]));
  expect(Object.fromEntries(got)).toEqual(kinds);
});

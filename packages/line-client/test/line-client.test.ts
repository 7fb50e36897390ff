import { createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createLineClient, type LineOutcome } from '../src/index.ts';
import { outcomeOfFailure } from '../src/network-failure.ts';
import { answer, type Play, rawServer as startRawServer } from './raw-server.ts';

const TOKEN = 'secret-token-of-the-channel';
const KEY = 'dc0c9433-63d6-8f8b-a3a4-9ee5d108b038';
const BODY = '{"to":"U00000000000000000000000000000001",  "messages":[{"type":"text","text":"hello \\u3042"}]}';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function rawServer(play: Play) {
  const server = await startRawServer(play);
  cleanups.push(server.close);
  return server;
}

function lineClient(baseUrl: string, attemptTimeoutMs = 2_000) {
  const client = createLineClient({ baseUrl, attemptTimeoutMs });
  cleanups.push(() => client.close());
  return client;
}

const message = (text: string) => JSON.stringify({ message: text });
const ACCEPTED_BEFORE = {
  body: JSON.stringify({ message: 'The retry key is already accepted', sentMessages: [{ id: '500' }] }),
  headers: { 'x-line-accepted-request-id': 'req-0' },
};

const ROWS: [name: string, play: Play, expected: Partial<LineOutcome> & { detail?: unknown }][] = [
  [
    '200 with sent messages',
    answer({ status: 200, body: '{"sentMessages":[{"id":"500","quoteToken":"q"},{"id":"501"}]}' }),
    { kind: 'accepted', requestId: 'req-1', sentMessageIds: ['500', '501'] },
  ],
  ['200 with {}', answer({ status: 200, body: '{}' }), { kind: 'accepted', requestId: 'req-1', sentMessageIds: [] }],
  ['200 with a garbage body', answer({ status: 200, body: '{"sentMess' }), { kind: 'ambiguous', status: 200 }],
  ['200 without a body', answer({ status: 200 }), { kind: 'ambiguous', status: 200 }],
  ['200 that breaks off', answer({ status: 200, body: '{}', missing: 9 }), { kind: 'ambiguous', status: 200 }],
  ['202', answer({ status: 202, body: '{}' }), { kind: 'ambiguous', status: 202 }],
  [
    '409 with the accepted request',
    answer({ status: 409, ...ACCEPTED_BEFORE }),
    { kind: 'already', requestId: 'req-1', acceptedRequestId: 'req-0', sentMessageIds: ['500'] },
  ],
  ['409 without it', answer({ status: 409, body: ACCEPTED_BEFORE.body }), { kind: 'ambiguous', status: 409 }],
  ['409 that breaks off', answer({ status: 409, ...ACCEPTED_BEFORE, missing: 9 }), { kind: 'ambiguous', status: 409 }],
  [
    '400',
    answer({
      status: 400,
      body: '{"message":"The request body has 1 error(s)","details":[{"message":"May not be empty","property":"messages[0].text"}]}',
    }),
    {
      kind: 'refused',
      status: 400,
      requestId: 'req-1',
      detail: '400 The request body has 1 error(s); messages[0].text: May not be empty',
    },
  ],
  ['400 that breaks off', answer({ status: 400, body: '{', missing: 9 }), { kind: 'refused', status: 400 }],
  ...[403, 404, 410, 413, 415].map((status): (typeof ROWS)[number] => [
    String(status),
    answer({ status, body: message('no') }),
    { kind: 'refused', status, detail: `${status} no` },
  ]),
  ['401', answer({ status: 401, body: message('invalid token') }), { kind: 'auth', status: 401, requestId: 'req-1' }],
  [
    '429 by the rate',
    answer({ status: 429, body: message('The API rate limit has been exceeded. Try again later.') }),
    { kind: 'throttled', reason: 'rate' },
  ],
  [
    '429 by the month',
    answer({ status: 429, body: message('You have reached your monthly limit.') }),
    { kind: 'throttled', reason: 'monthly' },
  ],
  [
    '429 by the user',
    answer({ status: 429, body: message('Too many messages to the same user') }),
    { kind: 'throttled', reason: 'same_user' },
  ],
  ['429 in new words', answer({ status: 429, body: 'slow' }), { kind: 'throttled', reason: 'unknown' }],
  ...[408, 418, 500, 502, 504].map((status): (typeof ROWS)[number] => [
    String(status),
    answer({ status, body: message('hm') }),
    { kind: 'ambiguous', status },
  ]),
  [
    'an HTML 503',
    answer({ status: 503, body: '<h1>hello</h1>', headers: { 'content-type': 'text/html' } }),
    { kind: 'ambiguous', status: 503, detail: '503 with 14 characters of text/html that are no LINE answer' },
  ],
  ['a redirect', answer({ status: 302, headers: { location: '/elsewhere' } }), { kind: 'ambiguous' }],
  ['a redirect that keeps the method', answer({ status: 307, headers: { location: '/else' } }), { kind: 'ambiguous' }],
  ['a reset', (socket) => socket.resetAndDestroy(), { kind: 'ambiguous', detail: 'ECONNRESET' }],
  ['an end without an answer', (socket) => socket.end(), { kind: 'ambiguous', detail: 'UND_ERR_SOCKET' }],
  ['bytes that are not HTTP', (socket) => socket.end('hello\r\n\r\n'), { kind: 'ambiguous' }],
];

describe('each answer proves what it proves and no more', () => {
  test.each(ROWS)('%s', async (_name, play, expected) => {
    const server = await rawServer(play);
    const outcome = await lineClient(server.url).push({ channelAccessToken: TOKEN, retryKey: KEY, body: BODY });
    expect(outcome).toMatchObject(expected);
    expect(server.requests).toHaveLength(1);
    expect(JSON.stringify(outcome)).not.toMatch(/secret-token|hello/);
  });

  test('no answer in time, before or within the body, is ambiguous', async () => {
    const request = { channelAccessToken: TOKEN, retryKey: KEY, body: BODY };
    const silent = await rawServer(() => undefined);
    expect(await lineClient(silent.url, 50).push(request)).toEqual({
      kind: 'ambiguous',
      detail: 'no whole answer within 50 ms',
    });
    const halting = await rawServer((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nx-line-request-id: r\r\ncontent-length: 9\r\n\r\n{}'),
    );
    expect(await lineClient(halting.url, 50).push(request)).toMatchObject({ kind: 'ambiguous', status: 200 });
  });

  test('a connection that cannot be made is not reached, by address and by name', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => server.close(resolve));
    for (const host of ['127.0.0.1', 'localhost']) {
      const client = lineClient(`http://${host}:${port}`);
      const outcome = await client.push({ channelAccessToken: TOKEN, retryKey: KEY, body: BODY });
      expect(outcome).toEqual({ kind: 'not_reached', detail: 'ECONNREFUSED' });
    }
  });

  test('TLS with a peer that speaks none is not reached', async () => {
    const plain = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    });
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => plain.close());
    const address = plain.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const client = lineClient(`https://127.0.0.1:${port}`);
    expect(await client.push({ channelAccessToken: TOKEN, retryKey: KEY, body: BODY })).toMatchObject({
      kind: 'not_reached',
    });
  });

  test.each([
    [{ retryKey: 'bad\nkey', channelAccessToken: TOKEN }],
    [{ retryKey: KEY, channelAccessToken: 'secret-token あ' }],
  ])('a header that HTTP cannot carry is not reached', async (headers) => {
    const server = await rawServer(answer({ status: 200, body: '{}' }));
    const outcome = await lineClient(server.url).push({ ...headers, body: BODY });
    expect(outcome.kind).toBe('not_reached');
    expect(JSON.stringify(outcome)).not.toContain('secret');
    expect(server.requests).toHaveLength(0);
  });
});

describe('causes of a failed fetch', () => {
  const coded = (code: string, extra = {}) => Object.assign(new Error(code), { code, ...extra });
  const failed = (cause: unknown) => new TypeError('fetch failed', { cause });

  test.each([
    ['ENOTFOUND', coded('ENOTFOUND'), 'not_reached'],
    ['a certificate', coded('CERT_HAS_EXPIRED'), 'not_reached'],
    ['no route', coded('EHOSTUNREACH', { syscall: 'connect' }), 'not_reached'],
    ['no route, later', coded('EHOSTUNREACH', { syscall: 'write' }), 'ambiguous'],
    ['every address refused', new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]), 'not_reached'],
    ['one address of two reset', new AggregateError([coded('ECONNREFUSED'), coded('ECONNRESET')]), 'ambiguous'],
    ['no addresses named', new AggregateError([]), 'ambiguous'],
    ['late headers', coded('UND_ERR_HEADERS_TIMEOUT'), 'ambiguous'],
    ['a broken pipe', coded('EPIPE'), 'ambiguous'],
    ['anything else', 'odd', 'ambiguous'],
  ])('%s', (_name, cause, kind) => {
    expect(outcomeOfFailure(failed(cause)).kind).toBe(kind);
  });
});

describe('the request', () => {
  test('carries the stored bytes, the key and the token, each to its own endpoint, over kept connections', async () => {
    const server = await rawServer(answer({ status: 200, body: '{}' }));
    const client = lineClient(`${server.url}/ignored/path`);
    const request = { channelAccessToken: TOKEN, retryKey: KEY, body: BODY };
    for (const send of [client.push, client.multicast, client.broadcast, client.push])
      expect((await send(request)).kind).toBe('accepted');
    expect(server.requests.map((text) => text.split(' ', 2).join(' '))).toEqual([
      'POST /v2/bot/message/push',
      'POST /v2/bot/message/multicast',
      'POST /v2/bot/message/broadcast',
      'POST /v2/bot/message/push',
    ]);
    expect(server.requests[0]).toContain(`authorization: Bearer ${TOKEN}\r\n`);
    expect(server.requests[0]).toContain(`x-line-retry-key: ${KEY}\r\n`);
    expect(server.requests[0]).toContain('content-type: application/json\r\n');
    expect(server.requests[0]?.endsWith(`\r\n\r\n${BODY}`)).toBe(true);
    expect(server.connections()).toBeLessThan(3);
  });

  test('that is aborted or closed in flight is ambiguous, and one not begun is not reached', async () => {
    const request = { channelAccessToken: TOKEN, retryKey: KEY, body: BODY };
    let arrived = () => {};
    const server = await rawServer(() => arrived());
    const client = lineClient(server.url, 5_000);
    const arrival = () =>
      new Promise<void>((resolve) => {
        arrived = resolve;
      });
    const stop = new AbortController();
    let seen = arrival();
    const aborted = client.push(request, stop.signal);
    await seen;
    stop.abort();
    expect(await aborted).toEqual({ kind: 'ambiguous', detail: 'aborted' });
    expect(await client.push(request, stop.signal)).toMatchObject({ kind: 'not_reached' });
    seen = arrival();
    const outcome = client.push(request);
    await seen;
    client.close();
    expect(await outcome).toEqual({ kind: 'ambiguous', detail: 'client is closed' });
    expect(await client.push(request)).toEqual({ kind: 'not_reached', detail: 'client is closed' });
  });

  test('quoted back by a proxy does not bring the token into the detail', async () => {
    const server = await rawServer(answer({ status: 403, body: message(`denied: Bearer ${TOKEN}`) }));
    const outcome = await lineClient(server.url).push({ channelAccessToken: TOKEN, retryKey: KEY, body: BODY });
    expect(outcome).toMatchObject({ kind: 'refused', detail: '403 denied: Bearer [token]' });
  });
});

test('what was to begin before its connection was there leaves nothing at LINE, and the next request goes out on that connection', async () => {
  const server = await rawServer(answer({ status: 200, body: '{}' }));
  const client = lineClient(server.url);
  const request = { channelAccessToken: TOKEN, retryKey: KEY, body: BODY };
  expect(await client.push({ ...request, beginBy: performance.now() - 1 })).toMatchObject({ kind: 'not_reached' });
  expect(server.requests).toEqual([]);
  expect(await client.push({ ...request, beginBy: performance.now() + 600_000 })).toMatchObject({ kind: 'accepted' });
  expect(server.requests).toHaveLength(1);
  expect(server.connections()).toBe(1);
});

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createWebhookClient, signatureOf } from '../src/index.ts';

const KEY = Buffer.from('a key of thirty-two bytes for us');
const SECRET = `whsec_${KEY.toString('base64')}`;
const ID = '01234567-89ab-8def-8123-456789abcdef';
const BODY = '{"data":{"name":"สมชาย 🎁"}}';
const TIMEOUT_MS = 20_000;

interface Got {
  readonly headers: IncomingMessage['headers'];
  readonly url: string | undefined;
  readonly method: string | undefined;
  readonly body: string;
}

/** A receiver on this machine that keeps what it got. */
async function receiver(answer: (response: ServerResponse) => void = (response) => response.end('thanks')) {
  const got: Got[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    got.push({
      headers: request.headers,
      url: request.url,
      method: request.method,
      body: Buffer.concat(chunks).toString('utf8'),
    });
    answer(response);
  });
  const connections: unknown[] = [];
  server.on('connection', (socket) => connections.push(socket));
  return { got, connections, port: await listen(server) };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    if ('closeAllConnections' in server && typeof server.closeAllConnections === 'function')
      server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const local = createWebhookClient({ timeoutMs: TIMEOUT_MS, allowLoopback: true });
const production = (addresses: readonly string[] = ['127.0.0.1'], resolved: string[] = []) =>
  createWebhookClient({
    timeoutMs: TIMEOUT_MS,
    resolve: async (host) => {
      resolved.push(host);
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
  });
const to = (url: string) => ({ url, id: ID, body: BODY, secret: SECRET });

test('a receiver can prove who sent a webhook, when, and that nothing of it was changed', async () => {
  const { got, port } = await receiver();
  const call = createWebhookClient({ timeoutMs: TIMEOUT_MS, allowLoopback: true, clockMs: () => 1_700_000_000_999 });
  expect(await call(to(`http://127.0.0.1:${port}/hooks/a?b=c`))).toEqual({ kind: 'accepted', status: 200 });
  expect(got).toHaveLength(1);
  const [{ headers, url, method, body } = { headers: {}, url: '', method: '', body: '' }] = got;
  expect({ url, method, body }).toEqual({ url: '/hooks/a?b=c', method: 'POST', body: BODY });
  const hmac = createHmac('sha256', KEY).update(`${ID}.1700000000.${BODY}`).digest('base64');
  expect(headers).toMatchObject({
    'webhook-id': ID,
    'webhook-timestamp': '1700000000',
    'webhook-signature': `v1,${hmac}`,
    'content-type': 'application/json',
  });
});

test('a signature is the one of the published example of the signature scheme', () => {
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  expect(signatureOf({ id, timestamp: '1614265330', body: '{"test": 2432232314}' }, secret)).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

test.for([
  [204, 'accepted'],
  [302, 'refused'],
  [400, 'refused'],
  [401, 'auth'],
  [403, 'auth'],
  [404, 'ambiguous'],
  [409, 'ambiguous'],
  [410, 'refused'],
  [422, 'refused'],
  [429, 'throttled'],
  [500, 'ambiguous'],
  [503, 'ambiguous'],
] as const)('an answer of %i is %s, and a redirect is not followed', async ([status, kind]) => {
  const { got, port } = await receiver((response) =>
    response.writeHead(status, { location: `http://127.0.0.1:${port}/elsewhere` }).end(),
  );
  expect(await local(to(`http://127.0.0.1:${port}/`))).toMatchObject({ kind, status });
  expect(got).toHaveLength(1);
});

test('a receiver that wants to be left alone says for how long', async () => {
  const { port } = await receiver((response) => response.writeHead(429, { 'retry-after': '120' }).end());
  expect(await local(to(`http://localhost:${port}/`))).toMatchObject({ kind: 'throttled', retryAfterMs: 120_000 });
});

test('an answer without end is cut off, and counts by its status; nothing of it is kept', async () => {
  const { port } = await receiver((response) => {
    response.writeHead(400);
    const write = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      response.once('drain', write);
    };
    write();
  });
  expect(await local(to(`http://127.0.0.1:${port}/`))).toEqual({
    kind: 'refused',
    status: 400,
    detail: 'it answered 400',
  });
});

test('a receiver that is not there was not reached; one that hangs or breaks off may have acted on it', async () => {
  const silent = await listen(createTcpServer());
  const breaking = await listen(createTcpServer((socket) => socket.once('data', () => socket.destroy())));
  const gone = createTcpServer();
  const port = await listen(gone);
  await new Promise((closed) => gone.close(closed));
  const hasty = createWebhookClient({ timeoutMs: 300, allowLoopback: true });
  expect(await local(to(`http://127.0.0.1:${port}/`))).toMatchObject({ kind: 'not_reached', detail: 'ECONNREFUSED' });
  expect(await local(to(`http://127.0.0.1:${breaking}/`))).toMatchObject({ kind: 'ambiguous' });
  expect(await hasty(to(`http://127.0.0.1:${silent}/`))).toEqual({
    kind: 'ambiguous',
    detail: 'no answer within 300 ms',
  });
});

test.for([
  ['http://example.com/', 'it is not https'],
  ['ftp://example.com/', 'it is not https'],
  ['http://127.0.0.1:PORT/', 'it is not https'],
  ['https://127.0.0.1:PORT/', 'its address is not public'],
  ['https://127.1:PORT/', 'its address is not public'],
  ['https://2130706433:PORT/', 'its address is not public'],
  ['https://0x7f.0.0.1:PORT/', 'its address is not public'],
  ['https://0.0.0.0:PORT/', 'its address is not public'],
  ['https://[::1]:PORT/', 'its address is not public'],
  ['https://[::ffff:127.0.0.1]:PORT/', 'its address is not public'],
  ['https://169.254.169.254/latest/meta-data', 'its address is not public'],
  ['https://shop.example:PORT/', 'its host has an address that is not public'],
  ['no url', 'it is no URL'],
] as const)('in production %s is not called', async ([url, why]) => {
  const { connections, port } = await receiver();
  const outcome = await production()(to(url.replace('PORT', String(port))));
  expect(outcome).toEqual({ kind: 'refused', detail: `it is not called: ${why}` });
  expect(connections).toEqual([]);
});

test.for([
  [['8.8.8.8', '10.0.0.1']],
  [['::ffff:10.0.0.1']],
  [['fd00::1', '2606:4700::1']],
  [['169.254.169.254']],
  [[]],
])('a host is not called that has the addresses %s', async ([addresses]) => {
  const outcome = await production(addresses)(to('https://shop.example/'));
  expect(outcome).toMatchObject({ kind: 'refused', detail: expect.stringContaining('not public') });
});

test('a host is looked up at each attempt and by the connection itself: a name that means something else by then gains nothing', async () => {
  const { connections, port } = await receiver();
  const answers = ['192.0.2.1', '127.0.0.1'];
  const resolved: string[] = [];
  const call = createWebhookClient({
    timeoutMs: TIMEOUT_MS,
    resolve: async (host) => {
      resolved.push(host);
      return [{ address: answers.shift() ?? '', family: 4 }];
    },
  });
  for (const _ of [1, 2])
    expect(await call(to(`https://rebinding.example:${port}/`))).toMatchObject({ kind: 'refused' });
  expect(resolved).toEqual(['rebinding.example', 'rebinding.example']);
  expect(connections).toEqual([]);
});

test('tests may call this machine, and no other private address', async () => {
  for (const url of ['http://10.0.0.1/', 'https://10.0.0.1/', 'https://[fe80::1]/', 'http://example.com/'])
    expect(await local(to(url))).toMatchObject({ kind: 'refused' });
});

test('nothing of url, body or secret stands in what is told', async () => {
  const { port } = await receiver((response) => response.writeHead(500).end('secret answer'));
  const outcomes = [
    await local(to(`http://127.0.0.1:${port}/token-in-path`)),
    await production()(to('https://token-in-host.example/')),
  ];
  const told = JSON.stringify(outcomes);
  for (const word of ['token-in', 'สมชาย', SECRET, 'secret answer']) expect(told).not.toContain(word);
});

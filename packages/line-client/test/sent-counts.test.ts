import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSentCountClient, type SentCount } from '@dueline/line-client';
import { expect, onTestFinished, test } from 'vitest';

const ANSWERS: readonly (readonly [status: number, body: string, SentCount])[] = [
  [200, '{"status":"ready","success":500}', { kind: 'ready', count: 500 }],
  [200, '{"status":"ready","success":0}', { kind: 'ready', count: 0 }],
  [200, '{"status":"unready"}', { kind: 'unready' }],
  [200, '{"status":"out_of_service"}', { kind: 'never' }],
  [200, '{"status":"ready"}', { kind: 'not_told', detail: '200 that is no LINE answer' }],
  [200, '{"status":"ready","success":-1}', { kind: 'not_told', detail: '200 that is no LINE answer' }],
  [200, '[]', { kind: 'not_told', detail: '200 that is no LINE answer' }],
  [401, '{"message":"no"}', { kind: 'not_told', detail: '401' }],
  [503, '<html>', { kind: 'not_told', detail: '503' }],
];

async function answering(status: number, body: string) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const client = createSentCountClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  onTestFinished(() => client.close());
  return { asked, client };
}

test.for(ANSWERS)('LINE’s answer %i %s to how many it sent is read as %j', async ([status, body, count]) => {
  const { asked, client } = await answering(status, body);
  const of = { channelAccessToken: 'a-token', endpoint: 'multicast', day: '2026-03-01' } as const;
  expect(await client.sentOn(of)).toEqual(count);
  expect(asked).toEqual(['GET /v2/bot/message/delivery/multicast?date=20260301 Bearer a-token']);
});

test.for(['not JSON', ''])('what is %j is no count, and no error', async (body) => {
  const { client } = await answering(200, body);
  const of = { channelAccessToken: 't', endpoint: 'push', day: '2026-03-01' } as const;
  expect(await client.sentOn(of)).toMatchObject({ kind: 'not_told' });
});

test('where nobody answers nobody knows', async () => {
  const client = createSentCountClient({ baseUrl: 'http://127.0.0.1:54321' });
  onTestFinished(() => client.close());
  const of = { channelAccessToken: 't', endpoint: 'push', day: '2026-03-01' } as const;
  expect(await client.sentOn(of)).toEqual({ kind: 'not_told', detail: 'ECONNREFUSED' });
});

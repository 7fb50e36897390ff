import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { sleep } from '@dueline/kernel';

/** A multicast endpoint that looks at nothing but the retry key, so that it costs little; told its latency in milliseconds, it sends its port to its parent. */
const latencyMs = Number(process.argv[2] ?? 0);
const accepted = new Map<string, string>();
let requests = 0;
let recipients = 0;

const server = createServer((request, response) => void answer(request, response));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/stub')
    return void response.end(JSON.stringify({ requests, accepted: accepted.size, recipients }));
  if (request.method === 'GET') return answerAboutMonth(request, response);
  const [body] = await Promise.all([textOf(request), latencyMs > 0 ? sleep(latencyMs) : undefined]);
  requests += 1;
  const key = String(request.headers['x-line-retry-key']);
  const before = accepted.get(key);
  const id = randomUUID();
  response.setHeader('x-line-request-id', id);
  response.setHeader('content-type', 'application/json');
  if (before !== undefined) {
    response.setHeader('x-line-accepted-request-id', before);
    return void response.writeHead(409).end('{"message":"The retry key is already accepted"}');
  }
  accepted.set(key, id);
  recipients += body.split('"U').length - 1;
  response.end('{}');
}

/** A month without a limit: a start asks before it freezes. */
function answerAboutMonth({ url = '' }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('content-type', 'application/json');
  response.end(url.endsWith('/consumption') ? '{"totalUsage":0}' : '{"type":"none"}');
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('latin1');
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
process.on('disconnect', () => process.exit());

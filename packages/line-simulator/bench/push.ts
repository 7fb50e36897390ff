// Pushes per second of the simulator alone: its bin in one process, and here a client that only writes and counts bytes.
// node packages/line-simulator/bench/push.ts [pushes] [connections]
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nthUserId } from '../src/index.ts';

const pushes = Number(process.argv[2] ?? 60_000);
const connections = Number(process.argv[3] ?? 16);
const users = 1_000_000;

const folder = await mkdtemp(join(tmpdir(), 'line-simulator-bench-'));
const config = join(folder, 'config.json');
const channel = {
  channelId: '2000000001',
  channelAccessToken: 'bench',
  users: [{ prefix: 'a', count: users }],
  knobs: { limits: { push: { count: 10_000_000, perMs: 1_000 } } },
};
await writeFile(config, JSON.stringify({ channels: [channel] }));
const child = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts'), '--config', config], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [line] = await once(child.stdout, 'data');
const ports = JSON.parse(String(line)) as { api: number; control: number };

let sent = 0;
function nextRequest(): string {
  const n = sent++;
  const text = `hello [[lid:a:${n}:1]]`;
  const body = JSON.stringify({ to: nthUserId('a', n % users), messages: [{ type: 'text', text }] });
  return (
    `POST /v2/bot/message/push HTTP/1.1\r\nhost: line\r\nauthorization: Bearer bench\r\n` +
    `content-type: application/json\r\nx-line-retry-key: ${randomUUID()}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  );
}

async function connection(): Promise<void> {
  const socket = connect(ports.api, '127.0.0.1');
  socket.setNoDelay(true);
  await once(socket, 'connect');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('data', (data) => {
    // One answer fits one segment on loopback, and no request is sent before the last one's answer.
    const text = data.toString('latin1');
    if (!text.startsWith('HTTP/1.1 200')) return reject(new Error(text.slice(0, 200)));
    if (sent >= pushes) resolve();
    else socket.write(nextRequest());
  });
  socket.write(nextRequest());
  await promise;
  socket.destroy();
}

const startedAt = performance.now();
const progress: number[] = [];
const meter = setInterval(() => progress.push(sent), 1_000);
await Promise.all(Array.from({ length: connections }, connection));
clearInterval(meter);
const seconds = (performance.now() - startedAt) / 1_000;
const metrics = (await (await fetch(`http://127.0.0.1:${ports.control}/__sim/metrics`)).json()) as { rssBytes: number };
const perSecond = progress.map((value, index) => value - (progress[index - 1] ?? 0));
process.stdout.write(
  `${pushes} pushes, ${connections} connections: ${Math.round(pushes / seconds)}/s, ` +
    `by second ${perSecond.join(' ')}, RSS ${Math.round(metrics.rssBytes / 1e6)} MB\n`,
);
child.kill('SIGTERM');
await once(child, 'exit');
await rm(folder, { recursive: true });

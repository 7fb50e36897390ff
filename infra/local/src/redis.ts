import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import { waitUntilReady } from './processes.ts';
import type { Run } from './run.ts';

/** Starts an empty Redis that keeps nothing on disk, with a random password, and returns its URL. */
export async function startRedis(run: Run, { name, command }: { name: string; command: string }): Promise<string> {
  const folder = run.makeFolder(name);
  const port = await freePort();
  const password = randomBytes(12).toString('hex');
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `requirepass ${password}`,
    'save ""',
    'appendonly no',
    'daemonize no',
  ];
  const file = join(folder, 'redis.conf');
  run.writeFile(file, `${settings.join('\n')}\n`);
  const server = run.launch({ name: 'Redis', command, args: [file], folder });
  await waitUntilReady(server, () => problemOf(port, password));
  return `redis://:${password}@127.0.0.1:${port}`;
}

function problemOf(port: number, password: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    const settle = (problem: string | undefined) => {
      socket.destroy();
      resolve(problem);
    };
    socket.setTimeout(5_000, () => settle('no answer'));
    socket.once('error', (error) => settle(error.message));
    socket.once('close', () => settle('it closed the connection'));
    socket.on('data', (chunk) => {
      answer += chunk.toString();
      if (answer === '+OK\r\n+PONG\r\n') settle(undefined);
      else if (answer.startsWith('-')) settle(answer.trim());
    });
  });
}

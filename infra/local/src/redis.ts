import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import { LocalServicesError } from './errors.ts';
import { freePort } from './ports.ts';
import type { Run } from './run.ts';
import { type PrivateServer, startServer } from './server.ts';

export interface RedisServer extends PrivateServer {
  /** Removes everything that it holds (FLUSHALL). */
  flush(): Promise<void>;
}

/** Starts an empty Redis that keeps nothing on disk, with a random password. */
export async function startRedis(
  run: Run,
  { name, command }: { name: string; command: string },
): Promise<{ redisUrl: string; server: RedisServer }> {
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
  const options = { name: 'Redis', command, args: [file], folder };
  const ping = { port, password, command: 'PING', expected: '+PONG' };
  const server = await startServer(run, options, () => problemOf(ping));
  const flush = async () => {
    const problem = await problemOf({ port, password, command: 'FLUSHALL', expected: '+OK' });
    if (problem !== undefined) throw new LocalServicesError(`Redis was not flushed: ${problem}`);
  };
  return { redisUrl: `redis://:${password}@127.0.0.1:${port}`, server: { ...server, flush } };
}

interface Question {
  port: number;
  password: string;
  command: string;
  expected: string;
}

/** Undefined when Redis answers the command as expected. */
function problemOf({ port, password, command, expected }: Question): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(`AUTH ${password}\r\n${command}\r\n`));
    const settle = (problem: string | undefined) => {
      socket.destroy();
      resolve(problem);
    };
    socket.setTimeout(5_000, () => settle('no answer'));
    socket.once('error', (error) => settle(error.message));
    socket.once('close', () => settle('it closed the connection'));
    socket.on('data', (chunk) => {
      answer += chunk.toString();
      if (answer === `+OK\r\n${expected}\r\n`) settle(undefined);
      else if (answer.startsWith('-')) settle(answer.trim());
    });
  });
}

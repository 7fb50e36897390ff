import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMMAND = 'redis-server';

/** Whether a Redis can be started here: where services come from docker compose it is not installed. */
export const hasRedis = spawnSync(COMMAND, ['--version']).status === 0;

/** A Redis of a test file's own, to be killed and frozen; it keeps its port and nothing else. */
export async function startRedisServer() {
  const folder = mkdtempSync(join(tmpdir(), 'dueline-limits-'));
  const port = await freePort();
  let child: ChildProcess;
  const start = async () => {
    const settings = { port, bind: '127.0.0.1', dir: folder, appendonly: 'no', daemonize: 'no' };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    child = spawn(COMMAND, [...args, '--save', ''], { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const chunk of child.stdout ?? []) if (String(chunk).includes('Ready to accept connections')) break;
  };
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    kill,
    freeze: async () => void child.kill('SIGSTOP'),
    thaw: async () => void child.kill('SIGCONT'),
    remove: async () => {
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** Starting a process takes long on a busy machine. */
const PATIENT = { timeout: 60_000 };

const MAIN = join(import.meta.dirname, '../src/main.ts');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'line-simulator-'));
  const channels = [{ channelId: '1', channelAccessToken: 'token-1', name: 'Café' }];
  await writeFile(join(folder, 'config.json'), JSON.stringify({ channels }));
});
afterAll(() => rm(folder, { recursive: true }));

const args = () => [MAIN, '--config', join(folder, 'config.json'), '--api-port', '0', '--control-port', '0'];

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('no output to read');
  const [data] = (await once(child.stdout, 'data')) as [Buffer];
  return data.toString();
}

const displayName = async (port: number) => {
  const headers = { authorization: 'Bearer token-1' };
  const response = await fetch(`http://127.0.0.1:${port}/v2/bot/info`, { headers });
  return ((await response.json()) as { displayName: string }).displayName;
};

test.each(['SIGTERM', 'SIGINT'] as const)(
  'the process prints its ports, serves, and ends on %s',
  PATIENT,
  async (signal) => {
    const child = spawn(process.execPath, args(), { stdio: ['ignore', 'pipe', 'inherit'] });
    const line = await firstLine(child);
    expect(line).toMatch(/^\{"api":\d+,"control":\d+\}\n$/);
    const ports = JSON.parse(line) as { api: number; control: number };
    expect(await displayName(ports.api)).toBe('Café');
    const exit = once(child, 'exit');
    child.kill(signal);
    expect(await exit).toEqual([0, null]);
  },
);

test('the process ends when the one that started it is killed', PATIENT, async () => {
  const script = `
    const child = require('node:child_process').spawn(process.execPath, ${JSON.stringify(args())}, { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout.on('data', (data) => process.stdout.write(data));
  `;
  const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { api } = JSON.parse(await firstLine(parent)) as { api: number };
  expect(await displayName(api)).toBe('Café');
  parent.kill('SIGKILL');
  await expect.poll(() => displayName(api).catch(() => 'gone'), { timeout: 10_000, interval: 50 }).toBe('gone');
});

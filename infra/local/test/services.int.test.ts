import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { repositoryRoot } from '../src/config.ts';
import { type ServiceUrls, sweepStale } from '../src/index.ts';
import { canConnect } from '../src/ports.ts';
import { groupMembers, hasProc } from '../src/proc.ts';
import { readRecord, runsFolder } from '../src/record.ts';

const children: ChildProcess[] = [];
const starterFile = join(import.meta.dirname, 'fixtures', 'starter.ts');
let stateFolder: string;

beforeAll(() => {
  stateFolder = mkdtempSync(join(tmpdir(), 'dueline-int-'));
});

// A test that failed half-way must not leave servers, nor keep the run's output open.
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) await end(child, 'SIGKILL');
  }
  await sweepStale(stateFolder);
});

afterAll(async () => {
  await sweepStale(stateFolder);
  rmSync(stateFolder, { recursive: true });
});

test('the template database can be cloned but not entered', async () => {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();

  const { rows } = await client.query('select datistemplate, datallowconn from pg_database where datname = $1', [
    inject('templateDatabase'),
  ]);

  await client.end();
  expect(rows).toEqual([{ datistemplate: true, datallowconn: false }]);
});

test.runIf(hasProc())(
  'the servers of a killed run are ended at the next start, and a live run next to it keeps its own',
  { timeout: 180_000 },
  async () => {
    const [killed, live] = await Promise.all([start(), start()]);
    await end(killed.child, 'SIGKILL');
    const left = serversOf(killed.child);
    expect(left.every((pid) => groupMembers(pid).length > 0)).toBe(true);

    const ended = await sweepStale(stateFolder);

    expect(ended).toHaveLength(4);
    expect(left.flatMap(groupMembers)).toEqual([]);
    expect(await reachable(killed.urls)).toEqual([false, false, false, false]);
    expect(await reachable(live.urls)).toEqual([true, true, true, true]);
    expect(readdirSync(runsFolder(stateFolder))).toHaveLength(1);
    await end(live.child, 'SIGKILL');
  },
);

test.runIf(hasProc())('Ctrl-C on ./dueline services ends everything it started', { timeout: 180_000 }, async () => {
  const env = { PATH: '/usr/bin:/bin', DUELINE_SERVICES: 'private' };
  const child = spawn(join(repositoryRoot, 'dueline'), ['services'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const urls: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    urls.push(line.slice(line.indexOf('=') + 1));
    if (urls.length === 4) break;
  }
  const before = performance.now();

  await end(child, 'SIGINT');

  expect(performance.now() - before).toBeLessThan(5_000);
  expect(await Promise.all(urls.map(answers))).toEqual([false, false, false, false]);
  const runs = readdirSync(runsFolder(join(repositoryRoot, '.dueline')));
  expect(runs.filter((id) => id.startsWith(`${child.pid}-`))).toEqual([]);
});

async function start(): Promise<{ child: ChildProcess; urls: ServiceUrls }> {
  const child = spawn(process.execPath, [starterFile, stateFolder], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the starter ended with ${code}`)));
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])) as [string];
  ended.catch(() => undefined); // the tests end it themselves
  return { child, urls: JSON.parse(line) as ServiceUrls };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/** The groups of the servers that still run, as recorded by their starter. */
function serversOf({ pid }: ChildProcess): number[] {
  const id = readdirSync(runsFolder(stateFolder)).find((name) => name.startsWith(`${pid}-`)) ?? '';
  const servers = readRecord(join(runsFolder(stateFolder), id))?.servers ?? [];
  return servers.filter(({ name }) => name !== 'initdb').map((server) => server.pid);
}

const reachable = ({ databaseUrl, amqpUrl, amqpManagementUrl, redisUrl }: ServiceUrls): Promise<boolean[]> =>
  Promise.all([databaseUrl, amqpUrl, amqpManagementUrl, redisUrl].map(answers));

function answers(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return canConnect({ host: hostname, port: Number(port), timeoutMs: 2_000 });
}

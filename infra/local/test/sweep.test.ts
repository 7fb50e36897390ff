import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sweepStale } from '../src/index.ts';
import { hasProc, readStat, thisMachine } from '../src/proc.ts';
import { createRunFolder, type RecordedServer, type RunRecord } from '../src/record.ts';

let stateFolder: string;
let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  stateFolder = realpathSync(mkdtempSync(join(tmpdir(), 'dueline-sweep-')));
  folder = join(stateFolder, 'run', 'r1');
  mkdirSync(join(folder, 'server'), { recursive: true });
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
  rmSync(stateFolder, { recursive: true });
});

test.runIf(hasProc())('what a dead starter left is ended, and its data is removed', async () => {
  const { child, server } = await startServer(join(folder, 'server'));
  await record({ servers: [server] });
  const gone = once(child, 'exit');

  expect(await sweepStale(stateFolder)).toEqual([`sleeper (process ${server.pid})`]);

  await gone;
  expect(existsSync(folder)).toBe(false);
});

test.runIf(hasProc())('the servers of a live starter are left alone', async () => {
  const { server } = await startServer(join(folder, 'server'));
  const startTime = readStat(process.pid)?.startTime ?? null;
  await record({ starter: { pid: process.pid, startTime }, servers: [server] });

  expect(await sweepStale(stateFolder)).toEqual([]);

  expect(readStat(server.pid)?.state).not.toBe('Z');
  expect(existsSync(folder)).toBe(true);
});

test.runIf(hasProc())('a stranger that got the pid of a dead server is left alone', async () => {
  const { server } = await startServer(join(folder, 'server'));
  await record({ servers: [{ ...server, startTime: '1' }] });

  expect(await sweepStale(stateFolder)).toEqual([]);

  expect(readStat(server.pid)?.state).not.toBe('Z');
});

test.runIf(hasProc())('a process that works in another folder is left alone', async () => {
  const { server } = await startServer(tmpdir());
  await record({ servers: [server] });

  expect(await sweepStale(stateFolder)).toEqual([]);

  expect(readStat(server.pid)?.state).not.toBe('Z');
});

test.runIf(hasProc())('the run of another container that shares the folder is left alone', async () => {
  const { server } = await startServer(join(folder, 'server'));
  const machine = thisMachine();
  await record({ machine: machine ? { ...machine, pidNamespace: 'pid:[1]' } : null, servers: [server] });

  expect(await sweepStale(stateFolder)).toEqual([]);

  expect(existsSync(folder)).toBe(true);
});

test('a folder without any run is swept without complaint', async () => {
  expect(await sweepStale(join(stateFolder, 'nothing', 'here'))).toEqual([]);
});

async function startServer(cwd: string): Promise<{ child: ChildProcess; server: RecordedServer }> {
  const child = spawn('sleep', ['300'], { cwd, detached: true, stdio: 'ignore' });
  children.push(child);
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  const startTime = readStat(pid)?.startTime ?? null;
  return { child, server: { name: 'sleeper', pid, startTime, endSignal: 'SIGKILL' } };
}

async function deadPid(): Promise<number> {
  const child = spawn('true', { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid ?? 0;
}

async function record(parts: Partial<RunRecord>): Promise<void> {
  const starter = { pid: await deadPid(), startTime: '1' };
  const base = { machine: thisMachine() ?? null, starter, folder, composeProject: null, servers: [] };
  createRunFolder({ stateFolder, id: 'record', record: { ...base, ...parts } });
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LocalServicesError, PortTakenError } from '../src/errors.ts';
import { waitUntilReady } from '../src/processes.ts';
import { openRun, type Run } from '../src/run.ts';

let folder: string;
let run: Run;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dueline-processes-'));
  run = openRun({ stateFolder: folder, path: '/usr/bin:/bin' });
});
afterEach(async () => {
  await run.end();
  rmSync(folder, { recursive: true });
});

const die = (script: string) => {
  const server = run.launch({ name: 'server', command: 'sh', args: ['-c', script], folder: run.makeFolder('server') });
  return waitUntilReady(server, async () => 'no answer');
};

test('a port that was taken is told as such, however much the server prints after it', async () => {
  const pages =
    'i=0; while [ $i -lt 400 ]; do echo "a line of a long dump that says nothing about the port"; i=$((i+1)); done';
  await expect(die(`echo "{error,eaddrinuse}"; ${pages}; exit 1`)).rejects.toBeInstanceOf(PortTakenError);
});

test('any other end of a server is no reason to try again, and its last words are told', async () => {
  const failed = die('echo "no space left on device"; exit 3');
  await expect(failed).rejects.toBeInstanceOf(LocalServicesError);
  await expect(failed).rejects.not.toBeInstanceOf(PortTakenError);
  await expect(failed).rejects.toThrow('no space left on device');
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCheckCommand } from '../../src/checker/command.ts';
import type { ExportRecord } from '../../src/index.ts';
import { CHANNEL, call, control, key, MULTICAST, start, text, user } from '../support.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const LID = 'c:1:1';
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'line-checker-'));
});
afterAll(() => rm(folder, { recursive: true }));

const jsonl = (rows: Iterable<object>) => [...rows].map((row) => `${JSON.stringify(row)}\n`).join('');

/** The export of a client that sent to users 0 to 2 and says so. */
function exportOf(retryKey: string): string {
  const users = [0, 1, 2].map((n) => ({ channelId: CHANNEL, lid: LID, user: user(n) }));
  return jsonl([
    ...users.map((one): ExportRecord => ({ kind: 'planned', ...one })),
    ...users.map((one): ExportRecord => ({ kind: 'state', ...one, state: 'accepted', retryKey })),
  ]);
}

async function sentTo(users: readonly number[]) {
  const simulator = await start();
  const body = { to: users.map(user), messages: [text(`[[lid:${LID}]]`)] };
  await call(simulator, MULTICAST, { body, retryKey: key(1) });
  return simulator;
}

async function runCheck(...args: string[]) {
  const output: string[] = [];
  const code = await runCheckCommand(args, (text) => output.push(text));
  return { code, output: output.join('') };
}

async function runProcess(...args: string[]) {
  const child = spawn(process.execPath, [MAIN, 'check', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const output: string[] = [];
  child.stdout.on('data', (data) => output.push(String(data)));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output: output.join('') };
}

test.each([
  ['all that were promised', [0, 1, 2], true, {}],
  ['one too few', [0, 1], false, { H2: 1 }],
  ['one too many', [0, 1, 2, 3], false, { H3: 1 }],
])('the control API checks the export in its body: %s', async (_name, users, ok, counts) => {
  const simulator = await sentTo(users);
  const response = await fetch(`${simulator.controlUrl}/__sim/ledger/check?seed=7&findingsEach=5`, {
    method: 'POST',
    headers: { 'content-type': 'application/jsonl' },
    body: exportOf(key(1)),
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    ok,
    counts,
    findings: Object.keys(counts).map((invariant) => ({ invariant, lid: LID, seed: '7' })),
  });
});

test.each([
  ['', '{"kind":"planed"}', 'a line of the export is no record'],
  ['', '{', 'a line is no JSON'],
  ['?since=3', '', 'Unrecognized key'],
  ['?faultsEndedAt=yesterday', '', 'Invalid ISO datetime'],
])('what is not well formed is refused: %s %s', async (query, body, message) => {
  const simulator = await start();
  const response = await fetch(`${simulator.controlUrl}/__sim/ledger/check${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/jsonl' },
    body,
  });
  expect(response.status).toBe(400);
  expect(JSON.stringify(await response.json())).toContain(message);
});

test('an export in another type than JSON lines is refused', async () => {
  const answer = await control(await start(), '/ledger/check', {});
  expect(answer).toEqual({ message: expect.stringContaining('application/jsonl') });
});

test('the command checks a ledger of files or of a running simulator, and its exit code tells the outcome', {
  timeout: 60_000,
}, async () => {
  const simulator = await sentTo([0, 1]);
  for (const table of ['requests', 'accepts', 'receipts', 'violations'] as const) {
    await writeFile(join(folder, `${table}.jsonl`), jsonl(simulator.ledger[table]()));
  }
  const file = join(folder, 'export.jsonl');
  await writeFile(file, exportOf(key(1)));
  const [byFiles, byUrl, noFile] = await Promise.all([
    runProcess('--ledger', folder, '--export', file, '--seed', '7'),
    runCheck('--ledger', simulator.controlUrl, '--export', file, '--json'),
    runCheck('--ledger', folder, '--export', join(folder, 'none.jsonl')),
  ]);
  expect(byFiles.code).toBe(1);
  expect(byFiles.output).toContain(`H2: ${LID} for ${user(2)} is called accepted`);
  expect(byFiles.output).toMatch(/again with --seed 7\nnot checked: H6, H7\nbroken: H2 \(1\)\n$/);
  expect(byUrl.code).toBe(1);
  expect(JSON.parse(byUrl.output)).toMatchObject({ ok: false, counts: { H2: 1, H1: 0 } });
  expect(noFile.code).toBe(2);
  expect(noFile.output).toContain('ENOENT');

  await writeFile(
    file,
    exportOf(key(1))
      .split('\n')
      .filter((line) => !line.includes(user(2)))
      .join('\n'),
  );
  const well = await runCheck('--ledger', simulator.controlUrl, '--export', file);
  expect(well).toEqual({ code: 0, output: expect.stringMatching(/2 recipients, .*\n.*\nevery invariant holds\n$/) });
});

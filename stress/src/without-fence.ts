import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { changeLines, copySources, type LineChange } from './sources.ts';

const PARTS = ['apps', 'packages', 'infra', 'demo', 'stress'];

const accept = (file: string, line: string, changed: string): LineChange => ({ file, line, changed });
const ACTIONS = 'packages/scheduled-actions/src';
const DELIVERIES = 'packages/deliveries/src';

/** Every place where the fence of an action or of its message that somebody saw is compared with that of the row. */
const FENCE_CONDITIONS: readonly LineChange[] = [
  accept(`${ACTIONS}/hold.ts`, 'on action.id = ticket.id and action.fence = ticket.fence', 'on action.id = ticket.id'),
  accept(
    `${ACTIONS}/release.ts`,
    'on action.id = ticket.id and action.fence = ticket.fence',
    'on action.id = ticket.id',
  ),
  accept(
    `${ACTIONS}/finish.ts`,
    'action.id = outcome.id and action.fence = outcome.fence and',
    'action.id = outcome.id and',
  ),
  accept(`${ACTIONS}/operate/refusal.ts`, 'case when action.fence <> ticket.fence then', 'case when false then'),
  accept(
    `${DELIVERIES}/start.ts`,
    'on delivery.id = ticket.id and delivery.fence = ticket.fence',
    'on delivery.id = ticket.id',
  ),
  accept(
    `${DELIVERIES}/announce.ts`,
    'on delivery.id = ticket.id and delivery.fence = ticket.fence',
    'on delivery.id = ticket.id',
  ),
  accept(
    `${DELIVERIES}/settle.ts`,
    "(delivery.status = 'sending' and delivery.fence = verdict.fence)",
    "(delivery.status = 'sending')",
  ),
];

/** Runs the same command from a copy of the sources in which no fence is compared. @returns Its exit code. */
export async function runWithoutFence(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const folder = await copySources(PARTS);
  try {
    await changeLines(folder, FENCE_CONDITIONS);
    const child = spawn(process.execPath, [join(folder, 'stress/src/main.ts'), ...args], {
      cwd: folder,
      env,
      stdio: 'inherit',
    });
    // Ctrl-C reaches both, and the child stops what it started; a signal to us alone goes on to it.
    process.on('SIGINT', () => undefined);
    process.on('SIGTERM', () => child.kill('SIGTERM'));
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? 1));
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

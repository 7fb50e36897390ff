import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PermanentError } from '@dueline/kernel';
import { ROOT } from './process.ts';

/** How another command finds a demo that is up. */
export interface RunningDemo {
  readonly pid: number;
  readonly databaseUrl: string;
  readonly lineControlUrl: string;
  /** What commands and apps need to work with it, as variables. */
  readonly environment: Readonly<Record<string, string>>;
}

const FOLDER = join(ROOT, '.dueline', 'demo');

/** Leaves a note about a demo that is up. @returns what takes it away. */
export function announceDemo(demo: RunningDemo): () => void {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${demo.pid}.json`);
  writeFileSync(file, JSON.stringify(demo), { mode: 0o600 }); // its passwords are nobody else's business
  return () => rmSync(file, { force: true });
}

/** The demos that are up, without notes that a killed one left. */
function runningDemos(): RunningDemo[] {
  mkdirSync(FOLDER, { recursive: true });
  return readdirSync(FOLDER)
    .map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as RunningDemo)
    .filter(({ pid }) => isAlive(pid));
}

/** The demo that is up: the one of this process id, or the only one. @throws PermanentError when there is none, or more than one. */
export function theDemo(pid: string | undefined): RunningDemo {
  const [demo, ...others] = runningDemos().filter((running) => pid === undefined || String(running.pid) === pid);
  if (demo === undefined) throw new PermanentError('no demo is running here: start one with ./dueline demo');
  if (others.length > 0) throw new PermanentError('more than one demo is running here: end all but one');
  return demo;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

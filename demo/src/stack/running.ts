import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './process.ts';

/** How another command finds a demo that is up. */
export interface RunningDemo {
  readonly pid: number;
  readonly databaseUrl: string;
  readonly lineControlUrl: string;
}

const FOLDER = join(ROOT, '.dueline', 'demo');

/** Leaves a note about a demo that is up. @returns what takes it away. */
export function announceDemo(demo: RunningDemo): () => void {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${demo.pid}.json`);
  writeFileSync(file, JSON.stringify(demo));
  return () => rmSync(file, { force: true });
}

/** The demos that are up, without notes that a killed one left. */
export function runningDemos(): RunningDemo[] {
  mkdirSync(FOLDER, { recursive: true });
  return readdirSync(FOLDER)
    .map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as RunningDemo)
    .filter(({ pid }) => isAlive(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

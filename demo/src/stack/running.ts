import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How another command finds a demo that is up. */
export interface RunningDemo {
  readonly pid: number;
  readonly databaseUrl: string;
  readonly lineControlUrl: string;
}

const folder = (stateFolder: string): string => join(stateFolder, 'demo');

/** Leaves a note about a demo that is up. @returns what takes it away. */
export function announceDemo(stateFolder: string, demo: RunningDemo): () => void {
  mkdirSync(folder(stateFolder), { recursive: true });
  const file = join(folder(stateFolder), `${demo.pid}.json`);
  writeFileSync(file, JSON.stringify(demo));
  return () => rmSync(file, { force: true });
}

/** The demos that are up, without notes that a killed one left. */
export function runningDemos(stateFolder: string): RunningDemo[] {
  mkdirSync(folder(stateFolder), { recursive: true });
  return readdirSync(folder(stateFolder))
    .map((name) => JSON.parse(readFileSync(join(folder(stateFolder), name), 'utf8')) as RunningDemo)
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

import { expect } from 'vitest';
import { run, serviceEnvironment } from './support.ts';

/** Runs a command of ./dueline that takes a seed on the services of this test run; returns its exit code and its line of JSON. */
async function runSeed(command: 'stress' | 'chaos', seed: number, args: readonly string[]) {
  const { code, stdout, stderr } = await run('./dueline', [command, '--seed', String(seed), '--json', ...args], {
    env: serviceEnvironment(),
  });
  const line = stdout.trimEnd().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) throw new Error(`the ${command} ended with ${code} and without a result:\n${stderr}`);
  return { code, result: JSON.parse(line) };
}

/** That a chaos with a planted fault shows people who received twice. */
export async function expectDoubled(args: readonly string[]): Promise<void> {
  const { code, result } = await runSeed('chaos', 1, args);
  expect(result.invariants.H1).toBe(result.doubled);
  expect(result.doubled).toBeGreaterThan(0);
  expect(code).toBe(1);
}

export const runStress = (seed: number, args: readonly string[]) => runSeed('stress', seed, args);
export const runChaos = (seed: number, args: readonly string[]) => runSeed('chaos', seed, args);
export const runCampaigns = (seed: number, args: readonly string[]) => runSeed('chaos', seed, ['--campaign', ...args]);

/** What a chaos ends with in which nobody is lost, doubled, wronged or unexplained. */
export const EVERYBODY_ACCOUNTED_FOR = {
  ...{ ok: true, lost: 0, doubled: 0, unexplained: 0, wronged: 0, open: 0, ended: 0 },
  invariants: {},
};

/** What a run of campaigns ends with in which nobody is lost, doubled or unexplained and everything agrees. */
export const EVERYBODY_ONCE = {
  ...{
    ok: true,
    violations: 0,
    lost: 0,
    doubled: 0,
    unexplained: 0,
    twice: 0,
    blamed: 0,
    miscounted: 0,
    audit: 0,
    open: 0,
    ended: 0,
  },
  invariants: {},
};

import { runFromCopy } from '../run-from-copy.ts';

/** Every attempt goes out under a key that no other has, so that LINE cannot know it again. */
const RANDOM_KEYS = [
  {
    file: 'packages/deliveries/src/start.ts',
    line: 'retryKey: row.retry_key,',
    changed: 'retryKey: crypto.randomUUID(),',
  },
];

/** Runs the same command from a copy of the sources in which each attempt has a key of its own. @returns Its exit code. */
export const runWithRandomKeys = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  runFromCopy({ main: 'stress/src/chaos-main.ts', args, env, changes: RANDOM_KEYS });

import { runFromCopy } from '../run-from-copy.ts';
import type { LineChange } from '../sources.ts';

/** Mistakes that need other sources, by name: what must be found because of each is said of it. */
const MISTAKES = {
  /** Every attempt goes out under a key that no other has, so that LINE cannot know it again: people receive twice. */
  'random-keys': [
    {
      file: 'packages/deliveries/src/start.ts',
      line: 'retryKey: row.retry_key,',
      changed: 'retryKey: crypto.randomUUID(),',
    },
  ],
  /** Whoever LINE refuses is to blame, at once and for whatever reason: people whom LINE would have served are called invalid. */
  'hasty-blame': [
    {
      file: 'apps/line-delivery/src/judge-refusal.ts',
      line: "if (namesRecipient(detail)) return { refusedFor: 'recipients' };",
      changed: "if (detail !== '') return { refusedFor: 'recipients' };",
    },
  ],
} as const satisfies Record<string, readonly LineChange[]>;

/** A LINE that forgets keys needs no other sources. */
export const PLANTS = ['amnesia', 'random-keys', 'hasty-blame'] as const;
export type Plant = (typeof PLANTS)[number];

/** Runs the same command from a copy of the sources with a mistake in it. @returns Its exit code. */
export const runWithMistake = (
  mistake: keyof typeof MISTAKES,
  { args, env }: { args: readonly string[]; env: NodeJS.ProcessEnv },
): Promise<number> => runFromCopy({ main: 'stress/src/chaos-main.ts', args, env, changes: MISTAKES[mistake] });

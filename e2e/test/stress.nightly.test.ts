import { expect, test } from 'vitest';
import { runStress } from './stress-support.ts';

const PROFILES = ['both', 'queue', 'inline'] as const;
const SEEDS = Array.from({ length: 20 }, (_, n) => [n + 1, PROFILES[n % PROFILES.length] ?? 'both'] as const);

test.for(SEEDS)(
  'seed %i of the stress at full size, profile %s: every action ends as it had to end',
  { timeout: 600_000 },
  async ([seed, profile]) => {
    const { code, result } = await runStress(seed, ['--profile', profile]);

    expect(result).toMatchObject({ violations: 0, samples: {}, actions: 20_000, kills: 20, stops: 10 });
    expect(code).toBe(0);
  },
);

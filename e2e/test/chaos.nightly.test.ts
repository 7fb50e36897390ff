import { expect, test } from 'vitest';
import { runChaos } from './stress-support.ts';

const SEEDS = Array.from({ length: 20 }, (_, n) => n + 1);

test.for(SEEDS)(
  'seed %i of the chaos for a minute: everybody is accounted for [T34]',
  { timeout: 600_000 },
  async (seed) => {
    const { code, result } = await runChaos(seed, []);

    expect(result).toMatchObject({ ok: true, lost: 0, doubled: 0, unexplained: 0, open: 0, ended: 0, invariants: {} });
    expect(code).toBe(0);
  },
);

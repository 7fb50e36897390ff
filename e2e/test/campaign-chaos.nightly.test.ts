import { expect, test } from 'vitest';
import { EVERYBODY_ONCE, runCampaigns } from './stress-support.ts';

const SEEDS = Array.from({ length: 50 }, (_, n) => n + 1);
const SIZE = ['--recipients', '6000', '--campaigns', '6', '--faults', '20', '--kills', '1'];

test.for(SEEDS)(
  'seed %i of campaigns under faults and kills: everybody once, and all counts agree [T34]',
  { timeout: 240_000 },
  async (seed) => {
    const { code, result } = await runCampaigns(seed, SIZE);

    expect(result).toMatchObject(EVERYBODY_ONCE);
    expect(code).toBe(0);
  },
);

import { expect, test } from 'vitest';
import { EVERYBODY_ONCE, runCampaigns } from './stress-support.ts';

/** So small that each takes seconds; `.ci/nightly` runs seeds 1 to 50. */
const SMALL = ['--recipients', '3000', '--campaigns', '5', '--faults', '20', '--kills', '1'];

test.for([1, 2, 3])(
  'seed %i of campaigns under faults, every app killed beside its replica: everybody once, and all counts agree [T34]',
  { timeout: 240_000 }, // several times what two idle cores take
  async (seed) => {
    const { code, result } = await runCampaigns(seed, SMALL);

    expect(result).toMatchObject(EVERYBODY_ONCE);
    expect(Object.keys(result.faults).length).toBeGreaterThan(1);
    expect(result.kills).toMatchObject({ 'campaign-dispatcher': 1, 'line-delivery': 1 });
    expect(code).toBe(0);
  },
);

import { expect, test } from 'vitest';
import { EVERYBODY_ACCOUNTED_FOR, expectDoubled, runChaos } from './stress-support.ts';

/** One in which LINE refuses for no reason (F23) while much is sent, so small as it is. */
const SEED_OF_OUTAGES = 6;
const PATIENCE = { timeout: 600_000 };
const SEEDS = Array.from({ length: 20 }, (_, n) => n + 1);

test.for(SEEDS)('seed %i of the chaos for a minute: everybody is accounted for [T34]', PATIENCE, async (seed) => {
  const { code, result } = await runChaos(seed, []);

  expect(result).toMatchObject(EVERYBODY_ACCOUNTED_FOR);
  expect(code).toBe(0);
});

test('when LINE forgets retry keys, the same chaos shows people who received twice [T35]', PATIENCE, () =>
  expectDoubled(['--plant', 'amnesia']),
);

test(
  'when every refusal is taken for the fault of its recipient, the same chaos shows people who were wronged [T35]',
  PATIENCE,
  async () => {
    const { code, result } = await runChaos(SEED_OF_OUTAGES, ['--minutes', '0.3', '--plant', 'hasty-blame']);

    expect(result.faults.F23).toBeGreaterThan(0);
    expect(result.wronged).toBeGreaterThan(0);
    expect(code).toBe(1);
  },
);

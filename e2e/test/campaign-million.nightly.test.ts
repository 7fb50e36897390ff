import { expect, test } from 'vitest';
import { EVERYBODY_ONCE, runCampaigns } from './stress-support.ts';

const PATIENCE = { timeout: 900_000 };
const MILLION = 1_000_000;

test(
  'a campaign to a million friends completes, and its history is checked within a minute [T36]',
  PATIENCE,
  async () => {
    const size = ['--recipients', String(MILLION), '--campaigns', '1', '--faults', '0', '--kills', '0'];
    const { code, result } = await runCampaigns(1, size);

    expect(result).toMatchObject({ ...EVERYBODY_ONCE, states: { accepted: MILLION } });
    expect(result.seconds.check).toBeLessThan(60);
    expect(result.rssMiB['line-simulator']).toBeLessThan(700);
    expect(code).toBe(0);
  },
);

test(
  'a million people, one request in ten meets a fault, each app dies five times: everybody once',
  PATIENCE,
  async () => {
    const { code, result } = await runCampaigns(1, ['--recipients', String(MILLION), '--faults', '10', '--kills', '5']);

    expect(result).toMatchObject(EVERYBODY_ONCE);
    expect(Object.values(result.kills)).toEqual([5, 5, 5, 5, 5]);
    expect(code).toBe(0);
  },
);

test(
  'a million people, cancelled in the middle: acknowledged within a second, nothing begins after that, and everybody is accepted or cancelled [T23]',
  PATIENCE,
  async () => {
    const size = ['--recipients', String(MILLION), '--campaigns', '1', '--faults', '0', '--kills', '0'];
    const { code, result } = await runCampaigns(1, [...size, '--act', 'cancel']);

    expect(result).toMatchObject(EVERYBODY_ONCE);
    const [stop] = result.stops;
    expect(stop).toMatchObject({ verb: 'cancel', lid: 'c:0', lastBegunMs: 0, lastNewMs: 0 });
    expect(stop.waitedMs).toBeLessThan(1_000);
    const [{ status, accepted, cancelled }] = result.campaigns;
    expect({ status, people: accepted + cancelled }).toEqual({ status: 'cancel', people: MILLION });
    expect(cancelled).toBeGreaterThan(MILLION / 10);
    expect(code).toBe(0);
  },
);

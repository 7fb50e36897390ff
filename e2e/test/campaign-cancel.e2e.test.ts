import { expect, test } from 'vitest';
import { EVERYBODY_ONCE, runCampaigns } from './stress-support.ts';

/** 40 requests, of which four at a time take 300 ms: the middle is wide. */
const SLOW = ['--recipients', '20000', '--campaigns', '1', '--faults', '0', '--kills', '0', '--latency', '300'];

test('cancelled in the middle: nothing begins after the acknowledgement, and everybody is accepted or cancelled [T23]', {
  timeout: 240_000,
}, async () => {
  const { code, result } = await runCampaigns(1, [...SLOW, '--act', 'cancel']);

  expect(result).toMatchObject(EVERYBODY_ONCE);
  const [stop] = result.stops;
  expect(stop).toMatchObject({ verb: 'cancel', lid: 'c:0', lastBegunMs: 0, lastNewMs: 0 });
  const [{ status, accepted, cancelled }] = result.campaigns;
  expect({ status, people: accepted + cancelled }).toEqual({ status: 'cancel', people: 20_000 });
  expect(accepted).toBeGreaterThan(0);
  expect(cancelled).toBeGreaterThan(0);
  expect(code).toBe(0);
});

import { APP_NAMES } from '@dueline/demo';
import { expect, test } from 'vitest';
import { NOT_FOR_CAMPAIGNS, planCampaigns, type Size } from '../src/campaigns/plan.ts';
import { FAULTS } from '../src/chaos/faults.ts';

const SIZE: Size = { seed: 1, recipients: 1_000_000, campaigns: 4, share: 0.1, latencyMs: 0, kills: 5 };

test('the same seed makes the same campaigns, deaths and faults, another seed others', () => {
  expect(planCampaigns(SIZE)).toEqual(planCampaigns({ ...SIZE }));
  expect(planCampaigns({ ...SIZE, seed: 2 })).not.toEqual(planCampaigns(SIZE));
});

test('every fault is played that a campaign may meet, and no other', () => {
  const played = planCampaigns(SIZE).weather.flatMap(({ faults }) => faults);

  expect(new Set(played)).toEqual(new Set(FAULTS.filter((fault) => NOT_FOR_CAMPAIGNS[fault] === undefined)));
});

test('of the requests that meet none of the people who are refused, the share that was asked for meets a fault', () => {
  for (const { faults, rules } of planCampaigns(SIZE).weather) {
    const single = rules.filter(
      ({ effect, burst, match }) => effect.type !== 'poison' && burst === undefined && !match?.keyAttempt?.includes(2),
    );
    const spared = single.reduce((rest, { match }) => rest * (1 - (match?.probability ?? 0)), 1);
    expect(1 - spared).toBeLessThanOrEqual(SIZE.share + 1e-9);
    if (single.length === faults.length - 1) expect(1 - spared).toBeCloseTo(SIZE.share);
  }
});

test('each app dies as often as asked, in either of its places, and the requests of all campaigns are counted', () => {
  const { kills, requests } = planCampaigns(SIZE);

  for (const name of APP_NAMES) expect(kills.filter(({ role }) => role === name)).toHaveLength(SIZE.kills);
  expect(new Set(kills.map(({ slot }) => slot))).toEqual(new Set([0, 1]));
  expect(requests).toBe(2_000 + 3 + 1 + 3);
});

test('without faults LINE is only slow, if it is', () => {
  const rulesOf = (latencyMs: number) =>
    planCampaigns({ ...SIZE, share: 0, latencyMs }).weather.flatMap(({ rules }) => rules.map(({ effect }) => effect));

  expect(rulesOf(0)).toEqual([]);
  expect(rulesOf(200)).toEqual([{ type: 'latency', ms: 200 }]);
});

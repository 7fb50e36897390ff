import { fuzzUnder, HOST_ZONES } from '@dueline/scheduled-cycles/testing';
import { expect, test } from 'vitest';

const HOUR_MS = 3_600_000;

// Each host looks at a quarter of the patterns and policies, at every change of every zone.
test.for(HOST_ZONES.map((hostZone, at) => [hostZone, at] as const))(
  'under a host in %s calendars are what the clocks of every zone show, each second around their changes [SEM-010]',
  { timeout: 2 * HOUR_MS },
  async ([hostZone, at]) => {
    const span = { from: '2026-01-01', until: '2028-01-01' };
    const report = await fuzzUnder(hostZone, [{ ...span, oneIn: 20, first: 5 * at, seconds: 90 }]);
    expect(report).toMatchObject({ hostZone, wrong: [] });
    expect(report.changes).toBeGreaterThan(400);
  },
);

test('half a century of changes in zones that move their clocks otherwise than others', {
  timeout: HOUR_MS,
}, async () => {
  const zones = ['Africa/Casablanca', 'Antarctica/Troll', 'Australia/Lord_Howe', 'Pacific/Apia', 'Pacific/Kwajalein'];
  const others = ['America/Caracas', 'Asia/Gaza', 'Asia/Kathmandu', 'Asia/Pyongyang', 'Pacific/Chatham'];
  const span = { from: '1980-01-01', until: '2038-01-01' };
  const report = await fuzzUnder('UTC', [{ ...span, zones: [...zones, ...others], oneIn: 49, first: 0, seconds: 5 }]);
  expect(report.wrong).toEqual([]);
  expect(report.changes).toBeGreaterThan(400);
});

import { expect, test } from 'vitest';
import { fuzzUnder, HOST_ZONES } from './fuzz/run.ts';

/** An hour, half an hour, two hours, a day that was left out, midnight that is not there, a change for Ramadan; the nightly run takes all. */
const SAMPLE = [
  [['Europe/Berlin', 'Australia/Lord_Howe', 'Antarctica/Troll'], '2026-10-01', '2026-11-01'],
  [['Pacific/Apia'], '2011-12-20', '2012-01-10'],
  [['America/Santiago', 'Africa/Cairo'], '2026-04-01', '2026-05-01'],
  [['Africa/Casablanca'], '2026-02-10', '2026-03-25'],
] as const;

test.for(HOST_ZONES.map((hostZone, at) => [hostZone, at] as const))(
  'under a host in %s a calendar is what the clocks of its zone show, minute by minute [SEM-010]',
  { timeout: 120_000 },
  async ([hostZone, at]) => {
    const orders = SAMPLE.map(([zones, from, until], n) => ({
      ...{ zones, from, until, oneIn: 33, first: at + 4 * n, seconds: 3 },
    }));
    expect(await fuzzUnder(hostZone, orders)).toMatchObject({ hostZone, wrong: [], changes: 8 });
  },
);

import { missingServers } from '@dueline/local-services';
import { expect, test } from 'vitest';
import { bench } from './bench-support.ts';

test.skipIf(missingServers(process.env).length > 0).for([
  ['fanout', ['0 ms', '20 ms', '100 ms', '20 ms, line-delivery killed in the middle']],
  ['tick', ['ticks with Redis', 'ticks without Redis', 'campaigns at their instants']],
  [
    'event',
    [
      ...['100 changes a second', '500 changes a second', '1,000 changes a second'],
      ...['single rows, our triggers', 'single rows, no trigger'],
      ...['statements of 100 rows, our triggers', 'statements of 100 rows, no trigger'],
    ],
  ],
] as const)(
  'the bench of campaigns and events (%s) runs our apps, and finds nothing lost or doubled',
  { timeout: 300_000 },
  async ([scenario, names]) => {
    const { ok, lost, doubled, standings } = await bench(scenario);
    expect({ ok, lost, doubled }).toEqual({ ok: true, lost: 0, doubled: 0 });
    expect(standings.map(({ name }) => name)).toEqual(names);
  },
);

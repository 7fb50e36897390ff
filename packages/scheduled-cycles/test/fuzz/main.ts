import { clockChanges } from './clock-tape.ts';
import { fuzzChange } from './fuzz-calendar.ts';
import type { FuzzOrder, FuzzReport } from './run.ts';

// A program of its own, because the zone of the host is that of a process.
const orders: FuzzOrder[] = JSON.parse(process.argv[2] ?? '');
let changes = 0;
let looks = 0;
const wrong: string[] = [];
for (const { zones, from, until, oneIn, first, seconds } of orders)
  for (const zone of zones ?? Intl.supportedValuesOf('timeZone'))
    for (const change of clockChanges(zone, { from: Date.parse(from), until: Date.parse(until) })) {
      const found = fuzzChange(zone, change, { oneIn, seconds, first: first + changes });
      changes += 1;
      looks += found.looks;
      wrong.push(...found.wrong);
    }
const hostZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const report: FuzzReport = { hostZone, changes, looks, wrong: wrong.slice(0, 20) };
process.stdout.write(JSON.stringify(report));

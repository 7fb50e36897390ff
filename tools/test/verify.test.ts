import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHECKS } from '../verify/checks.ts';
import { FAULTS } from './faults.ts';
import { copyOfSources } from './working-copy.ts';

/** All others say where and what on one line. */
const SPREAD_OVER_LINES = new Set(['boundaries', 'versions']);

const copy = copyOfSources();
afterAll(() => copy[Symbol.dispose]());

test('the sources as they are pass every check', async () => {
  const { ok, output } = await copy.verify();
  expect(ok, output).toBe(true);
});

test('every check is shown to catch something', () => {
  expect(Object.keys(FAULTS).toSorted()).toEqual(CHECKS.map(({ name }) => name).toSorted());
});

describe.each(Object.entries(FAULTS))('%s', (check, faults) => {
  let found: Awaited<ReturnType<typeof copy.verify>>;

  beforeAll(async () => {
    using _ = copy.plant(faults.flatMap(({ plants }) => plants));
    found = await copy.verify(check);
  });

  test.each(faults)('catches: $name', ({ says }) => {
    expect(found.ok).toBe(false);
    const report = found.output.split('\n');
    const reach = SPREAD_OVER_LINES.has(check) ? 3 : 0;
    const places = report.keys().map((at) => report.slice(Math.max(0, at - reach), at + 1 + reach).join('\n'));
    expect(
      [...places].filter((place) => says.every((text) => place.includes(text))),
      found.output,
    ).not.toEqual([]);
  });
});

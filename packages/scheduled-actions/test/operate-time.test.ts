import { expect, test } from 'vitest';
import { actionTime, instantOf } from '../src/operate/time.ts';

test.for<[string, string, string]>([
  ['2026-03-01T10:00', 'Asia/Tokyo', '2026-03-01T01:00:00Z'],
  ['2026-03-01 10:00:30.5', 'Asia/Tokyo', '2026-03-01T01:00:30.5Z'],
  ['2026-03-01T10:00+09:00', 'America/New_York', '2026-03-01T01:00:00Z'],
  ['2026-03-01T10:00Z', 'Asia/Tokyo', '2026-03-01T10:00:00Z'],
  ['2026-11-01T01:30', 'America/New_York', '2026-11-01T06:30:00Z'], // happens twice
])('%s in %s is %s', ([time, zone, instant]) => {
  expect(instantOf(time, zone)).toBe(instant);
});

test('a local time that the clocks skip is refused', () => {
  expect(() => instantOf('2026-03-08T02:30', 'America/New_York')).toThrow('does not exist');
});

test.for(['10:00', '2026-03-01', '2026-02-30T10:00', '2026-03-01T24:30', '2026-03-01T10:00+9', 'soon', ''])(
  '%j is no time',
  (time) => {
    expect(actionTime.safeParse(time).success).toBe(false);
  },
);

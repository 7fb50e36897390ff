import { expect, test } from 'vitest';
import { UsageError } from '../src/actions/command-line.ts';
import { secondsOf } from '../src/actions/read-operation.ts';
import { oneLine, tableOf, timeIn } from '../src/actions/table.ts';

test.for<[string, number]>([
  ['90s', 90],
  ['15m', 900],
  ['1h30m', 5_400],
  ['2d', 172_800],
  ['1w', 604_800],
])('%s is %i seconds', ([duration, seconds]) => {
  expect(secondsOf(duration)).toBe(seconds);
});

test.for(['', '5', 'h', '1.5h', '-1h', '1y', '1h '])('%j is no duration', (duration) => {
  expect(() => secondsOf(duration)).toThrow(UsageError);
});

test('columns stand under each other, also with wide letters and pictures', () => {
  expect(
    tableOf(
      ['a', 'b'],
      [
        ['会員', 'x'],
        ['🎉', 'y'],
        ['cafe\u0301', 'z'],
      ],
    ),
  ).toEqual(['a     b', '会員  x', '🎉    y', 'cafe\u0301  z']);
});

test.for([
  ['hello', 'hello'],
  ['hello world', 'hello w…'],
  ['会員様へのお知らせ', '会員様…'],
  ['a\nb\u001b[31mc', 'a b [31…'],
])('%j fits into eight columns, on one line, as %j', ([text, expected]) => {
  expect(oneLine(String(text), 8)).toBe(expected);
});

test('an instant is told in the zone of the account and in UTC', () => {
  expect(timeIn('Asia/Tokyo', '2026-12-31T15:30:00.6+00:00')).toBe('2027-01-01 00:30:01  (12-31 15:30:01Z)');
  expect(timeIn('Asia/Tokyo', null)).toBe('-');
});

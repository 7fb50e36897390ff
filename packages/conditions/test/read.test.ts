import {
  conditionOf,
  MAX_CONDITION_CHILDREN,
  MAX_CONDITION_DEPTH,
  MAX_CONDITION_LEAVES,
  MAX_LIST_LENGTH,
  MAX_TEXT_LENGTH,
} from '@dueline/conditions';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { problemOf } from './support.ts';

const leaf = { attribute: 'a', op: 'exists' };
const nested = (depth: number): unknown => {
  let node: unknown = leaf;
  for (let level = 1; level < depth; level += 1) node = { not: node };
  return node;
};
const wide = (of: unknown, count: number) => ({ any: Array<unknown>(count).fill(of) });

const REFUSED: [what: string, condition: unknown, at: string][] = [
  ['null', null, ''],
  ['a list', [], ''],
  ['an empty object', {}, ''],
  ['neither operator nor value', { attribute: 'a' }, '/op'],
  ['an unknown operator', { attribute: 'a', op: 'equals', value: 1 }, '/op'],
  ['the name of what every object has as operator', { attribute: 'a', op: 'constructor' }, '/op'],
  ['an operator of audiences on an attribute', { attribute: 'a', op: 'member' }, '/op'],
  ['an operator of attributes on an audience', { audience: '1', op: 'eq', value: 1 }, '/op'],
  ['an unknown field', { attribute: 'a', op: 'exists', values: 1 }, ''],
  ['a value beside exists', { attribute: 'a', op: 'exists', value: 1 }, ''],
  ['an attribute without a name', { attribute: '', op: 'exists' }, '/attribute'],
  ['an attribute with NUL', { attribute: 'a\u0000', op: 'exists' }, '/attribute'],
  ['an attribute and an event field', { attribute: 'a', event: '/to', op: 'exists' }, ''],
  ['no value', { attribute: 'a', op: 'eq' }, '/value'],
  ['null as value', { attribute: 'a', op: 'eq', value: null }, '/value'],
  ['a list as value', { attribute: 'a', op: 'eq', value: [1] }, '/value'],
  ['a value that is no number', { attribute: 'a', op: 'gt', value: Number.NaN }, '/value'],
  ['an endless value', { attribute: 'a', op: 'gt', value: Number.POSITIVE_INFINITY }, '/value'],
  ['order among booleans', { attribute: 'a', op: 'lt', value: true }, '/value'],
  ['a text that is too long', { attribute: 'a', op: 'eq', value: 'x'.repeat(MAX_TEXT_LENGTH + 1) }, '/value'],
  ['a text with NUL', { attribute: 'a', op: 'eq', value: 'a\u0000' }, '/value'],
  ['a text with a lone surrogate', { attribute: 'a', op: 'contains', value: '\ud800' }, '/value'],
  ['a part that is no text', { attribute: 'a', op: 'contains', value: 1 }, '/value'],
  ['an empty part, which everybody has', { attribute: 'a', op: 'starts', value: '' }, '/value'],
  ['a case policy that is none', { attribute: 'a', op: 'eq', value: 'x', ignoreCase: 'yes' }, '/ignoreCase'],
  ['a list of nothing', { attribute: 'a', op: 'has_none', value: [] }, '/value'],
  ['a list of lists', { attribute: 'a', op: 'has_any', value: [1, [2]] }, '/value/1'],
  ['a list that is too long', { attribute: 'a', op: 'has_any', value: Array(MAX_LIST_LENGTH + 1).fill(1) }, '/value'],
  ['a pattern that does not end', { attribute: 'a', op: 'matches', value: '(' }, '/value'],
  ['a pattern that looks around', { attribute: 'a', op: 'matches', value: 'a(?=b)' }, '/value'],
  ['a pattern that refers back', { attribute: 'a', op: 'matches', value: '(a)\\1' }, '/value'],
  ['a pattern that is too long', { attribute: 'a', op: 'matches', value: 'a'.repeat(257) }, '/value'],
  ['a pattern that repeats too much', { attribute: 'a', op: 'matches', value: '(x{100}){10}' }, '/value'],
  ['a day that there is not', { attribute: 'a', op: 'before', value: '2026-02-29' }, '/value'],
  ['a date in other words', { attribute: 'a', op: 'on', value: 'tomorrow' }, '/value'],
  ['a time without a day', { attribute: 'a', op: 'on', value: '10:00' }, '/value'],
  ['a length without a unit', { attribute: 'a', op: 'in_last', value: {} }, '/value'],
  ['a length in two units', { attribute: 'a', op: 'in_last', value: { days: 1, hours: 1 } }, '/value'],
  ['half a day', { attribute: 'a', op: 'in_last', value: { days: 0.5 } }, '/value/days'],
  ['a length that runs backwards', { attribute: 'a', op: 'in_next', value: { days: -1 } }, '/value/days'],
  ['a length beyond calendars', { attribute: 'a', op: 'in_last', value: { years: 1e6 } }, '/value/years'],
  ['a zone by its name', { attribute: 'a', op: 'anniversary', zone: 'Asia/Tokyo' }, '/zone'],
  ['an audience by its name', { audience: 'fans', op: 'member' }, '/audience'],
  ['an audience as a number', { audience: 1, op: 'member' }, '/audience'],
  ['a field that is no pointer', { event: 'to', op: 'exists' }, '/event'],
  ['a pointer with a wrong escape', { event: '/to/~2', op: 'exists' }, '/event'],
  ['a field that the event has not', { event: '/amount', op: 'exists' }, '/event'],
  ['something beside all', { all: [leaf], any: [leaf] }, '/any'],
  ['all of no list', { all: leaf }, '/all'],
  ['not of a list', { not: [leaf] }, '/not'],
  [
    'a wrong leaf deep inside',
    { all: [leaf, { any: [{ not: { attribute: 'a', op: 'eq' } }] }] },
    '/all/1/any/0/not/value',
  ],
  ['more children than may be', wide(leaf, MAX_CONDITION_CHILDREN + 1), '/any'],
  ['deeper than may be', nested(MAX_CONDITION_DEPTH + 1), '/not'.repeat(MAX_CONDITION_DEPTH - 1)],
  ['deeper than any stack', nested(100_000), '/not'.repeat(MAX_CONDITION_DEPTH - 1)],
  ['more leaves than may be', wide(wide(leaf, 50), 5), '/any/4/any/0'],
  ['a later version', { version: 2, when: leaf }, '/version'],
  ['a version without a condition', { version: 1 }, '/when'],
  ['a version beside a condition', { version: 1, when: leaf, all: [] }, '/all'],
  ['a wrong leaf of a version', { version: 1, when: { not: { attribute: 'a' } } }, '/when/not/op'],
];

test.for(REFUSED)('a condition that has %s is refused, and it is said where', ([, condition, at]) => {
  expect(problemOf(condition)?.at).toBe(at);
  expect(problemOf(condition)?.message).toMatch(/^\S.{3,}/);
});

test('a condition may be as deep, wide and large as the limits', () => {
  expect(problemOf(nested(MAX_CONDITION_DEPTH))).toBeUndefined();
  expect(problemOf(wide(leaf, MAX_CONDITION_CHILDREN))).toBeUndefined();
  expect(problemOf(wide(wide(leaf, 50), MAX_CONDITION_LEAVES / 50))).toBeUndefined();
  expect(problemOf({ attribute: 'a', op: 'eq', value: 'x'.repeat(MAX_TEXT_LENGTH) })).toBeUndefined();
});

test('a condition without the frame of a version is read as the first, and stored in its frame', () => {
  expect(conditionOf([]).parse(leaf)).toEqual({ version: 1, when: leaf });
  expect(conditionOf([]).parse({ version: 1, when: leaf })).toEqual({ version: 1, when: leaf });
});

const OPERATORS = [
  'eq',
  'lt',
  'matches',
  'has_any',
  'is_empty',
  'before',
  'in_last',
  'anniversary',
  'member',
  'toString',
];
const anyCondition = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.jsonValue(),
    fc.record(
      {
        attribute: fc.jsonValue(),
        event: fc.jsonValue(),
        audience: fc.jsonValue(),
        op: fc.constantFrom(...OPERATORS),
        value: fc.jsonValue(),
      },
      { requiredKeys: ['op'] },
    ),
    fc.record({ all: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ any: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ not: tie('tree'), version: fc.integer(), when: tie('tree') }, { requiredKeys: [] }),
  ),
})).tree;

test('any JSON is read or refused with a place, and what was read is read again as the same', () => {
  fc.assert(
    fc.property(fc.oneof(anyCondition, fc.jsonValue()), (json) => {
      const parsed = conditionOf(['to']).safeParse(json);
      if (parsed.success)
        expect(conditionOf(['to']).parse(JSON.parse(JSON.stringify(parsed.data)))).toEqual(parsed.data);
      else expect(parsed.error.issues).toHaveLength(1);
    }),
    { numRuns: 1_000 },
  );
});

test('reading never touches the prototypes of objects [SEM-114]', () => {
  const json: unknown = JSON.parse('{"__proto__": {"all": []}, "attribute": "__proto__", "op": "exists"}');
  expect(problemOf(json)?.at).toBe('');
  expect(problemOf(JSON.parse('{"attribute": "__proto__", "op": "exists"}'))).toBeUndefined();
  expect(({} as { all?: unknown }).all).toBeUndefined();
});

import { type Comparison, type Condition, condition, type Scalar } from '@dueline/contracts';
import { evaluateConditions } from '@dueline/trigger-rules';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const mapOf = (attributes: object) => new Map<string, unknown>(Object.entries(attributes));
const holds = (of: Condition, attributes: ReadonlyMap<string, unknown>) => evaluateConditions(of, attributes).holds;

type Row = [value: unknown, op: Comparison, wanted: Scalar, holds: boolean];
const LEAVES: Row[] = [
  ['gold', 'eq', 'gold', true],
  ['gold', 'eq', 'Gold', false],
  ['gold', 'ne', 'silver', true],
  ['gold', 'ne', 'gold', false],
  [3, 'eq', 3, true],
  [3, 'eq', '3', false],
  [3, 'ne', '3', false], // another type satisfies no comparison
  [0, 'eq', false, false],
  [1, 'lt', 2, true],
  [2, 'lt', 2, false],
  [2, 'lte', 2, true],
  [10, 'gt', 9, true],
  ['10', 'gt', '9', false], // text is compared as text
  [2, 'gte', 2, true],
  [-0, 'eq', 0, true],
  [1e308, 'lt', Number.MAX_VALUE, true],
  ['a', 'lt', 'b', true],
  ['あ', 'lt', 'い', true],
  [true, 'eq', true, true],
  [true, 'ne', false, true],
  [false, 'lt', true, false], // booleans have no order
  [true, 'gte', true, false],
  [null, 'eq', 'x', false],
  [null, 'ne', 'x', false],
  [undefined, 'ne', 'x', false],
  [['gold'], 'eq', 'gold', false],
  [{ a: 1 }, 'ne', 'x', false],
  ['', 'eq', '', true],
];

test.for(LEAVES)('%j %s %j: %s', ([value, op, wanted, expected]) => {
  const found = evaluateConditions(
    { attribute: 'a', op, value: wanted },
    value === undefined ? new Map() : mapOf({ a: value }),
  );
  expect(found).toEqual({ holds: expected, leaves: [{ attribute: 'a', op, holds: expected }] });
});

test.for([
  [undefined, false],
  [null, false],
  ['', true],
  [0, true],
  [false, true],
  [[], true],
  [{}, true],
] as const)('%j exists: %s, and absent is the opposite', ([value, exists]) => {
  const attributes = value === undefined ? new Map() : mapOf({ a: value });
  expect(holds({ attribute: 'a', op: 'exists' }, attributes)).toBe(exists);
  expect(holds({ attribute: 'a', op: 'absent' }, attributes)).toBe(!exists);
});

test('an emptied condition matches nobody', () => {
  expect(evaluateConditions({ all: [] }, mapOf({ a: 1 }))).toEqual({ holds: false, leaves: [] });
  expect(evaluateConditions({ any: [] }, mapOf({ a: 1 }))).toEqual({ holds: false, leaves: [] });
  expect(holds({ all: [{ any: [] }] }, new Map())).toBe(false);
});

test('the explanation has every leaf, also those that could not change the result', () => {
  const leaf = (attribute: string): Condition => ({ attribute, op: 'exists' });
  const { leaves } = evaluateConditions(
    { any: [leaf('a'), { not: { all: [leaf('b'), leaf('c')] } }] },
    mapOf({ a: 1 }),
  );
  expect(leaves.map(({ attribute, holds: it }) => `${attribute}:${it}`)).toEqual(['a:true', 'b:false', 'c:false']);
});

const NAMES = ['a', 'b', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'ชื่อ'];
const scalars = fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());
const leaves: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({
    attribute: fc.constantFrom(...NAMES),
    op: fc.constantFrom<Comparison>('eq', 'ne', 'lt', 'lte', 'gt', 'gte'),
    value: scalars,
  }),
  fc.record({ attribute: fc.constantFrom(...NAMES), op: fc.constantFrom('exists', 'absent') }),
);
const { tree: conditions } = fc.letrec<{ tree: Condition }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaves,
    fc.record({ all: fc.array(tie('tree'), { maxLength: 4 }) }),
    fc.record({ any: fc.array(tie('tree'), { maxLength: 4 }) }),
    fc.record({ not: tie('tree') }),
  ),
}));
const attributes = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), fc.jsonValue()), { maxLength: 6 })
  .map((entries) => new Map<string, unknown>(entries));

test('not(not x) is x, and not x is never x', () => {
  fc.assert(
    fc.property(conditions, attributes, (of, values) => {
      expect(holds({ not: { not: of } }, values)).toBe(holds(of, values));
      expect(holds({ not: of }, values)).toBe(!holds(of, values));
    }),
  );
});

test('the order of children never matters', () => {
  fc.assert(
    fc.property(fc.array(conditions, { maxLength: 5 }), attributes, (children, values) => {
      expect(holds({ all: children.toReversed() }, values)).toBe(holds({ all: children }, values));
      expect(holds({ any: children.toReversed() }, values)).toBe(holds({ any: children }, values));
    }),
  );
});

test('all and any mirror each other, except that empty ones match nothing', () => {
  fc.assert(
    fc.property(fc.array(conditions, { minLength: 1, maxLength: 5 }), attributes, (children, values) => {
      expect(holds({ not: { all: children } }, values)).toBe(holds({ any: children.map((not) => ({ not })) }, values));
    }),
  );
});

test('names that every JavaScript object has are absent until somebody sets them [SEM-114]', () => {
  fc.assert(
    fc.property(fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'), (attribute) => {
      expect(holds({ attribute, op: 'exists' }, mapOf({}))).toBe(false);
      expect(holds({ attribute, op: 'exists' }, mapOf(JSON.parse(`{"${attribute}": 1}`)))).toBe(true);
    }),
  );
});

test('a condition that may be stored never throws, whatever the attributes', () => {
  fc.assert(
    fc.property(conditions, fc.dictionary(fc.string(), fc.jsonValue()), (of, values) => {
      if (condition.safeParse(of).success) expect(typeof holds(of, mapOf(values))).toBe('boolean');
    }),
  );
});

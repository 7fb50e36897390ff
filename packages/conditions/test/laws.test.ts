import { type Condition, conditionOf, evaluateConditions, eventFieldsOf, requirements } from '@dueline/conditions';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CLOCK, FIELDS, factsOf } from './support.ts';

const NAMES = ['a', 'b', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'ชื่อ'];
const POINTERS = ['/to', '/payload/amount', '/payload/__proto__', '/answers/0'];
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('2026-12-01', '2026-02-30', '2026-12-01T10:00', '1990-12-01T00:00:00Z', 'gold', 'straße', '😀'),
);
const scalars = fc.oneof(texts, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());
const about = fc.oneof(
  fc.record({ attribute: fc.constantFrom(...NAMES) }),
  fc.record({ event: fc.constantFrom(...POINTERS) }),
);
const span = fc.oneof(
  ...['minutes', 'hours', 'days', 'months', 'years'].map((unit) => fc.record({ [unit]: fc.nat(100) })),
);
const moment = fc.oneof(
  fc.constantFrom('2026-12-01', '2026-12-01T10:00', '2026-12-01T10:00:00+09:00'),
  fc.record({ ago: span }),
  fc.record({ ahead: span }),
);
const zone = fc.constantFrom('user', 'account');
const operators = fc.oneof(
  fc.record({ op: fc.constantFrom('eq', 'ne'), value: scalars, ignoreCase: fc.boolean() }),
  fc.record({ op: fc.constantFrom('lt', 'lte', 'gt', 'gte'), value: fc.oneof(texts, fc.integer()) }),
  fc.record({ op: fc.constantFrom('contains', 'starts', 'ends'), value: texts, ignoreCase: fc.boolean() }),
  fc.record({ op: fc.constant('matches'), value: fc.constantFrom('^g', '\\d+', '(a|b)*c', '.') }),
  fc.record({
    op: fc.constantFrom('has_any', 'has_all', 'has_none'),
    value: fc.array(scalars, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ op: fc.constantFrom('is_empty', 'exists', 'absent') }),
  fc.record({ op: fc.constantFrom('before', 'after', 'on'), value: moment, zone }),
  fc.record({ op: fc.constantFrom('in_last', 'in_next'), value: span, zone }),
  fc.record({ op: fc.constant('anniversary'), zone }),
);
const leaves = fc.oneof(
  fc.tuple(about, operators).map(([subject, ask]) => ({ ...subject, ...ask })),
  fc.record({ audience: fc.constantFrom('1', '2', '3'), op: fc.constantFrom('member', 'not_member') }),
);
const schema = conditionOf(FIELDS);
const conditions: fc.Arbitrary<Condition> = fc
  .letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaves,
      fc.record({ all: fc.array(tie('tree'), { maxLength: 4 }) }),
      fc.record({ any: fc.array(tie('tree'), { maxLength: 4 }) }),
      fc.record({ not: tie('tree') }),
    ),
  }))
  .tree.filter((json) => schema.safeParse(json).success)
  .map((json) => schema.parse(json).when);

const values = fc.oneof(
  fc.jsonValue(),
  fc.constant(Number.POSITIVE_INFINITY),
  texts,
  fc.array(scalars, { maxLength: 5 }),
);
const bag = (names: readonly string[]) =>
  fc
    .array(fc.tuple(fc.constantFrom(...names), values), { maxLength: 6 })
    .map((entries) => new Map<string, unknown>(entries));
const facts = fc
  .record({
    attributes: bag(NAMES),
    event: bag(POINTERS),
    audiences: fc
      .array(fc.tuple(fc.constantFrom('1', '2'), fc.boolean()), { maxLength: 2 })
      .map((entries) => new Map(entries)),
    userZone: fc.constantFrom(null, 'America/Los_Angeles', 'Asia/Bangkok', 'nonsense'),
  })
  .map(({ userZone, ...rest }) => factsOf({}, { ...rest, clock: { ...CLOCK, userZone } }));

const holds = (...[condition, known]: Parameters<typeof evaluateConditions>) =>
  evaluateConditions(condition, known).holds;
const always = (check: (condition: Condition, known: ReturnType<typeof factsOf>) => void) =>
  fc.assert(fc.property(conditions, facts, check), { numRuns: 500 });

test('not x is never x, and not(not x) is x', () => {
  always((condition, known) => {
    expect(holds({ not: condition }, known)).toBe(!holds(condition, known));
    expect(holds({ not: { not: condition } }, known)).toBe(holds(condition, known));
  });
});

test('all and any mirror each other, except that empty ones match nothing', () => {
  fc.assert(
    fc.property(fc.array(conditions, { minLength: 1, maxLength: 5 }), facts, (children, known) => {
      const none = children.map((not) => ({ not }));
      expect(holds({ not: { all: children } }, known)).toBe(holds({ any: none }, known));
      expect(holds({ not: { any: children } }, known)).toBe(holds({ all: none }, known));
    }),
  );
});

test('the order of children never matters', () => {
  fc.assert(
    fc.property(fc.array(conditions, { maxLength: 5 }), facts, (children, known) => {
      expect(holds({ all: children.toReversed() }, known)).toBe(holds({ all: children }, known));
      expect(holds({ any: children.toReversed() }, known)).toBe(holds({ any: children }, known));
    }),
  );
});

/** The condition with its leaves replaced by what the explanation says of them. */
function replay(condition: Condition, path: string, found: ReadonlyMap<string, boolean>): boolean {
  if ('not' in condition) return !replay(condition.not, `${path}/not`, found);
  if ('all' in condition) {
    const answers = condition.all.map((child, at) => replay(child, `${path}/all/${at}`, found));
    return answers.length > 0 && !answers.includes(false);
  }
  if ('any' in condition)
    return condition.any.map((child, at) => replay(child, `${path}/any/${at}`, found)).includes(true);
  return found.get(path) ?? false;
}

test('the explanation agrees with the result, and is the same each time', () => {
  always((condition, known) => {
    const evaluation = evaluateConditions(condition, known);
    const found = new Map(evaluation.leaves.map((leaf) => [leaf.path, leaf.holds]));
    expect(found.size).toBe(evaluation.leaves.length);
    expect(replay(condition, '', found)).toBe(evaluation.holds);
    expect(evaluation.leaves.every(({ holds: it, why }) => !it || why === undefined)).toBe(true);
    expect(evaluateConditions(structuredClone(condition), known)).toEqual(evaluation);
  });
});

test('what a condition does not ask for changes nothing', () => {
  always((condition, known) => {
    const needs = requirements(condition);
    const only = <Value>(all: ReadonlyMap<string, Value>, wanted: ReadonlySet<string>) =>
      new Map([...all].filter(([name]) => wanted.has(name)));
    const needed = {
      attributes: only(known.attributes, needs.attributes),
      event: only(known.event, needs.eventFields),
      audiences: only(known.audiences, needs.audiences),
      clock: needs.clock ? known.clock : { now: '', accountZone: '', userZone: null },
    };
    expect(evaluateConditions(condition, needed)).toEqual(evaluateConditions(condition, known));
  });
});

test('an explanation can be stored, whatever it tells of', () => {
  always((condition, known) => {
    const text = JSON.stringify(evaluateConditions(condition, known).leaves);
    expect(text).not.toContain('\\u0000');
    expect(text).not.toMatch(/\\ud[89a-f]/i);
  });
});

test('names that every JavaScript object has are absent until somebody sets them [SEM-114]', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
    const document: unknown = JSON.parse(`{"payload": {"${name}": {"${name}": 1}}}`);
    const pointers = [`/payload/${name}/${name}`, `/${name}`, `/payload/x/${name}`];
    expect([...eventFieldsOf(document, pointers)]).toEqual([[pointers[0], 1]]);
    expect(holds({ attribute: name, op: 'exists' }, factsOf({}))).toBe(false);
    expect(holds({ attribute: name, op: 'exists' }, factsOf(JSON.parse(`{"${name}": 1}`)))).toBe(true);
  }
});

test('fields of an event that are kept for later are judged then as they are now', () => {
  fc.assert(
    fc.property(
      conditions,
      fc.dictionary(fc.constantFrom('to', 'payload', 'answers'), values),
      (condition, document) => {
        const pointers = requirements(condition).eventFields;
        const now = factsOf({}, { event: eventFieldsOf(document, pointers) });
        const later = factsOf(
          {},
          { event: new Map(Object.entries(JSON.parse(JSON.stringify(Object.fromEntries(now.event))))) },
        );
        expect(evaluateConditions(condition, later)).toEqual(evaluateConditions(condition, now));
      },
    ),
  );
});

test('an evaluation looks at each question once, and at each value once for its question', () => {
  always((condition, known) => {
    const looks: string[] = [];
    const counted = <Value>(map: ReadonlyMap<string, Value>) =>
      new Proxy(map, {
        get: (target, name) => {
          if (name !== 'get') return Reflect.get(target, name);
          return (key: string) => {
            looks.push(key);
            return target.get(key);
          };
        },
      });
    const watched = {
      ...{ attributes: counted(known.attributes), event: counted(known.event), audiences: counted(known.audiences) },
      clock: known.clock,
    };
    expect(evaluateConditions(condition, watched).leaves).toHaveLength(looks.length);
  });
});

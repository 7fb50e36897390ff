import { type AttemptOutcome, nextStep, type Verdict } from '@dueline/deliveries';
import fc from 'fast-check';
import { expect, test } from 'vitest';

type Row = [outcome: AttemptOutcome, verdict: Verdict, to: string, waits?: (attemptNo: number) => [number, number]];
const upTo =
  (baseMs: number, capMs: number, floorMs = 0) =>
  (attemptNo: number): [number, number] => [floorMs, floorMs + Math.min(capMs, baseMs * 2 ** (attemptNo - 1))];
const NOT_SERVED = upTo(1_000, 60_000);

const TABLE: Row[] = [
  ['accepted', 'clean', 'accepted'],
  ['accepted', 'ambiguous', 'accepted'],
  ['already', 'clean', 'accepted'],
  ['already', 'ambiguous', 'accepted'],
  ['refused', 'clean', 'refused'],
  ['refused', 'ambiguous', 'planned', () => [600_000, 600_000]], // an earlier attempt may have been accepted
  ['ambiguous', 'clean', 'planned', upTo(2_000, 120_000, 5_000)],
  ['ambiguous', 'ambiguous', 'planned', upTo(2_000, 120_000, 5_000)],
  ['auth', 'clean', 'planned', NOT_SERVED],
  ['auth', 'ambiguous', 'planned', NOT_SERVED],
  ['throttled', 'clean', 'planned', NOT_SERVED],
  ['throttled', 'ambiguous', 'planned', NOT_SERVED],
  ['not_reached', 'clean', 'planned', NOT_SERVED],
  ['not_reached', 'ambiguous', 'planned', NOT_SERVED],
];

test.for(TABLE)('%s when %s so far: %s', ([outcome, verdict, to, waits]) => {
  for (const attemptNo of [1, 2, 5, 8, 40, 1_000]) {
    for (let n = 0; n < 50; n += 1) {
      const step = nextStep(outcome, { verdict, attemptNo });
      expect(step.to).toBe(to);
      if (step.to !== 'planned') continue;
      const [least, most] = waits?.(attemptNo) ?? [0, -1];
      expect(step.waitMs).toBeGreaterThanOrEqual(least);
      expect(step.waitMs).toBeLessThanOrEqual(most);
    }
  }
});

const attempts = fc.record({
  outcome: fc.constantFrom<AttemptOutcome>('refused', 'auth', 'throttled', 'not_reached', 'ambiguous'),
  verdict: fc.constantFrom<Verdict>('clean', 'ambiguous'),
  attemptNo: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2 ** 31 - 1 })),
});

test('after any attempt that LINE did not accept the next is at most ten minutes away, unless a clean refusal ends it', () => {
  fc.assert(
    fc.property(attempts, ({ outcome, ...rest }) => {
      const step = nextStep(outcome, rest);
      expect(step.to).toBe(outcome === 'refused' && rest.verdict === 'clean' ? 'refused' : 'planned');
      if (step.to !== 'planned') return;
      expect(Number.isInteger(step.waitMs)).toBe(true);
      expect(step.waitMs).toBeGreaterThanOrEqual(outcome === 'ambiguous' ? 5_000 : 0);
      expect(step.waitMs).toBeLessThanOrEqual(600_000);
    }),
    { numRuns: 1_000 },
  );
});

test.for(['refused', 'throttled', 'auth', 'ambiguous', 'accepted', 'already'] as const)(
  'whoever judged an attempt says when the delivery goes on, unless LINE accepted it: %s',
  (outcome) => {
    for (const verdict of ['clean', 'ambiguous'] as const) {
      const step = nextStep(outcome, { verdict, attemptNo: 1, holdMs: 3_600_000 });
      const isAccepted = outcome === 'accepted' || outcome === 'already';
      expect(step).toEqual(isAccepted ? { to: 'accepted' } : { to: 'planned', waitMs: 3_600_000 });
    }
  },
);

import { describe, expect, it } from 'vitest';
import { COMES_TO_REST, check, type Protocol, type Step } from '../src/check.ts';

/** Two writers add one each to a number: read, then write. With `locks` the second waits for the first. */
interface Sum {
  readonly sum: number;
  readonly lockedBy: number | null;
  /** What each has read; null before, `written` after it has written. */
  readonly read: readonly (number | null | 'written')[];
}

function writer(index: number, rules: { locks: boolean; unlocks: boolean; retries: boolean }) {
  return function* ({ sum, lockedBy, read }: Sum): Iterable<Step<Sum>> {
    const mine = read[index];
    const set = (value: number | null | 'written') => read.map((old, at) => (at === index ? value : old));
    if (mine === null && lockedBy === null) {
      yield { says: `${index} reads ${sum}`, to: { sum, read: set(sum), lockedBy: rules.locks ? index : null } };
    } else if (typeof mine === 'number' && rules.retries) {
      yield { says: `${index} starts again`, to: { sum, read: set(null), lockedBy: null } };
    } else if (typeof mine === 'number') {
      const lock = rules.unlocks ? null : lockedBy;
      yield { says: `${index} writes ${mine + 1}`, to: { sum: mine + 1, read: set('written'), lockedBy: lock } };
    }
  };
}

const adding = (rules: { locks?: boolean; unlocks?: boolean; retries?: boolean } = {}): Protocol<Sum> => ({
  start: { sum: 0, lockedBy: null, read: [null, null] },
  actors: [0, 1].map((index) => writer(index, { locks: true, unlocks: true, retries: false, ...rules })),
  mayHappen: [],
  always: { 'the sum is never more than two': ({ sum }) => sum <= 2 },
  everyStep: { 'the sum never falls': (before, after) => after.sum >= before.sum },
  atRest: { 'both are counted': ({ sum }) => sum === 2 },
});

describe('the checker of protocols', () => {
  it('finds nothing wrong where nothing is', () => {
    expect(check(adding())).toEqual({ states: 8, failure: undefined });
  });

  it('finds the lost update, and tells the shortest way to it', () => {
    const { failure } = check(adding({ locks: false }));
    expect(failure?.property).toBe('both are counted');
    expect(failure?.trace).toEqual(['0 reads 0', '1 reads 0', '0 writes 1', '1 writes 1']);
    expect(failure?.state).toMatchObject({ sum: 1 });
  });

  it('finds the deadlock of a lock that is never given back', () => {
    expect(check(adding({ unlocks: false })).failure?.trace).toEqual(['0 reads 0', '0 writes 1']);
  });

  it('finds actors that are busy for ever', () => {
    const { failure } = check(adding({ retries: true }));
    expect(failure).toMatchObject({ property: COMES_TO_REST, trace: [] });
  });

  it('finds a state that may not be, and a step that may not be', () => {
    const never = check({ ...adding(), always: { 'nobody writes': ({ sum }) => sum === 0 } });
    expect(never.failure).toMatchObject({ property: 'nobody writes', trace: ['0 reads 0', '0 writes 1'] });
    const step = check({ ...adding(), everyStep: { 'the sum never grows': (from, to) => to.sum <= from.sum } });
    expect(step.failure).toMatchObject({ property: 'the sum never grows', trace: ['0 reads 0', '0 writes 1'] });
  });

  it('does not count on what only may happen', () => {
    const freed = function* (state: Sum): Iterable<Step<Sum>> {
      if (state.lockedBy !== null) yield { says: 'a person breaks the lock', to: { ...state, lockedBy: null } };
    };
    const stuck = adding({ unlocks: false });
    expect(check({ ...stuck, mayHappen: [freed] }).failure).toMatchObject({ property: 'both are counted' });
    expect(check({ ...stuck, actors: [...stuck.actors, freed] }, { only: COMES_TO_REST }).failure).toBeUndefined();
  });

  it('looks at one property alone when it is asked to', () => {
    expect(check(adding({ locks: false }), { only: 'the sum is never more than two' }).failure).toBeUndefined();
  });

  it('refuses a state in which null and undefined would pass for one', () => {
    const vague = [() => [{ says: 'forgets', to: { sum: 0, lockedBy: null, read: [undefined, null] } }]];
    expect(() => check({ ...adding(), actors: vague } as unknown as Protocol<Sum>)).toThrow('use null');
  });

  it('refuses a property that does not exist, and a model without end', () => {
    expect(() => check(adding(), { only: 'both are counted twice' })).toThrow('there is no property');
    const counting = [({ sum, ...rest }: Sum) => [{ says: 'one more', to: { ...rest, sum: sum + 1 } }]];
    const endless = { ...adding(), actors: counting, always: {}, atRest: {} };
    expect(() => check(endless, { maxStates: 100 })).toThrow('more than 100 states');
  });
});

import { type Circumstances, cancelReason, failedDecision, maxRetries } from '@dueline/scheduled-actions';
import { expect, test } from 'vitest';

const FINE: Circumstances = { rule: 'live', isFollowing: true, conditionsHold: true, branchRuns: true };

const REASONS: [Partial<Circumstances>, string | undefined][] = [
  [{}, undefined],
  [{ rule: 'none' }, undefined],
  [{ rule: 'deleted' }, 'rule_deleted'],
  [{ rule: 'disabled' }, 'rule_disabled'],
  [{ isFollowing: undefined }, 'user_unknown'],
  [{ isFollowing: false }, 'user_not_following'],
  [{ conditionsHold: false }, 'conditions_no_longer_hold'],
  [{ branchRuns: false }, 'wait_expired'],
  [{ branchRuns: false, conditionsHold: false }, 'wait_expired'],
  [{ rule: 'disabled', branchRuns: false }, 'rule_disabled'],
  [{ rule: 'deleted', isFollowing: false, conditionsHold: false }, 'rule_deleted'],
  [{ isFollowing: false, conditionsHold: false }, 'user_not_following'],
];

test.for(REASONS)('%j: cancelled for %s', ([changes, reason]) => {
  expect(cancelReason({ ...FINE, ...changes })).toBe(reason);
});

test('a failed decision is repeated three times after up to 5, 10 and 20 s, then fails', () => {
  for (let retryCount = 0; retryCount < maxRetries; retryCount += 1) {
    for (let n = 0; n < 200; n += 1) {
      const outcome = failedDecision({ id: '1', fence: '2', retryCount }, { error: 'why', fatal: false });
      expect(outcome).toMatchObject({ id: '1', fence: '2', to: 'pending', error: 'why' });
      const wait = outcome.to === 'pending' ? outcome.retryInMs : -1;
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThan(5_000 * 2 ** retryCount);
      expect(Number.isInteger(wait)).toBe(true);
    }
  }
  expect(failedDecision({ id: '1', fence: '2', retryCount: 3 }, { error: 'why', fatal: false })).toEqual({
    id: '1',
    fence: '2',
    to: 'failed',
    error: 'why',
  });
});

import { type Circumstances, cancelReason, failedDecision, maxRetries } from '@dueline/scheduled-actions';
import fc from 'fast-check';
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

const retryCounts = fc.oneof(fc.nat(maxRetries + 2), fc.nat({ max: 32_767 }));

test('a failed decision is repeated three times after up to 5, 10 and 20 s, then fails; a fatal one fails at once', () => {
  fc.assert(
    fc.property(retryCounts, fc.boolean(), fc.string(), (retryCount, fatal, error) => {
      const ticket = { id: '1', fence: '2' };
      const outcome = failedDecision({ ...ticket, retryCount }, { error, fatal });
      const isLast = fatal || retryCount >= maxRetries;
      expect(outcome).toMatchObject({ ...ticket, to: isLast ? 'failed' : 'pending', error });
      if (outcome.to !== 'pending') return;
      expect(Number.isInteger(outcome.retryInMs)).toBe(true);
      expect(outcome.retryInMs).toBeGreaterThanOrEqual(0);
      expect(outcome.retryInMs).toBeLessThan(5_000 * 2 ** retryCount);
    }),
    { numRuns: 1_000 },
  );
});

test('work that always fails is tried four times and no more', () => {
  let tries = 0;
  for (let retryCount = 0; ; retryCount += 1) {
    tries += 1;
    if (failedDecision({ id: '1', fence: '2', retryCount }, { error: 'why', fatal: false }).to === 'failed') break;
  }
  expect(tries).toBe(4);
});

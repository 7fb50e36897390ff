import { countUnmatched, type LogEntry } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';

const entry = (n: number, changes: Partial<LogEntry> = {}): LogEntry => ({
  ...{ organizationId: '1', lineOaId: '2', userId: `U${n}`, triggerRuleId: '7', ruleVersion: 2 },
  ...{ triggerOn: 'attribute_changed', action: null, decision: 'not_matched', reasonCode: 'conditions_not_met' },
  ...{ eventId: `e${n}`, causeId: null, rootId: `r${n}`, detail: { leaves: [n] }, ...changes },
});
const many = (count: number, changes: Partial<LogEntry> = {}) =>
  Array.from({ length: count }, (_, n) => entry(n, changes));

test('what a rule did not match for one reason is one row that says how often, with five of them as they were', () => {
  expect(countUnmatched(many(100))).toEqual([
    {
      ...{ organizationId: '1', lineOaId: '2', triggerRuleId: '7', ruleVersion: 2, triggerOn: 'attribute_changed' },
      ...{ action: null, decision: 'not_matched', reasonCode: 'conditions_not_met', evaluations: 100 },
      ...{ userId: null, eventId: null, causeId: null, rootId: null },
      detail: { samples: [0, 1, 2, 3, 4].map((n) => ({ userId: `U${n}`, eventId: `e${n}`, detail: { leaves: [n] } })) },
    },
  ]);
});

test.for([
  ['rules', { triggerRuleId: '8' }],
  ['versions', { ruleVersion: 3 }],
  ['reasons', { reasonCode: 'value_not_matched' }],
  ['sources', { triggerOn: 'form_submitted' }],
] as const)('different %s are counted apart', ([, changes]) => {
  const counted = countUnmatched([...many(3), ...many(2, changes)]);
  expect(counted.map((row) => 'evaluations' in row && row.evaluations)).toEqual([3, 2]);
});

test.for([
  ['fired', 'matched'],
  ['scheduled', 'matched'],
  ['observed', 'matched'],
  ['suppressed', 'frequency'],
  ['cancelled', 'expired'],
  ['failed', 'rule_invalid'],
  ['deferred', 'quiet_hours'],
  ['retried', 'decision_failed'],
  ['unlocked', 'fact_in_time'],
] as const)('what was %s is never counted together', ([decision, reasonCode]) => {
  const entries = many(50, { decision, reasonCode });
  expect(countUnmatched(entries)).toEqual(entries);
});

test('one that stands alone, and what names no rule, stays as it is', () => {
  expect(countUnmatched([entry(1)])).toEqual([entry(1)]);
  const unruled = many(3, { triggerRuleId: null });
  expect(countUnmatched(unruled)).toEqual(unruled);
  expect(countUnmatched([])).toEqual([]);
});

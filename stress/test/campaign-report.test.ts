import type { HistoryReport, RecipientState } from '@dueline/line-simulator';
import { nthUserId } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { PREFIXES } from '../src/campaigns/plan.ts';
import { type Found, reportOf } from '../src/campaigns/report.ts';
import { createRollCall } from '../src/campaigns/roll-call.ts';

const campaign = {
  ...({ lid: 'c:0', to: 'crowd', castType: 'multicast', atMs: 0 } as const),
  ...{ tenant: { organizationId: '1', lineOaId: '1' }, ticket: { id: '1', fence: '1' } },
};
const NONE = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`H${n + 1}`, 0]));
const HISTORY = {
  ...{ ok: true, counts: NONE as HistoryReport['counts'], skipped: [], violations: {}, findings: [] },
  checked: { recipients: 3, attempts: 1, requests: 1, accepts: 1, receipts: 3 },
};
const COUNTS = { accepted: 3, invalid: 0, refused: 0, unknown: 0, expired: 0, cancelled: 0, open: 0 };
const LINE = { channelId: '1', lid: 'c:0', receipts: 2, distinctUsers: 2, maxPerUser: 1, suppressed: 1, dropped: 0 };

/** Three people, of whom these numbers are said to be in a state. */
function found(states: readonly (readonly [number, RecipientState])[], changed: Partial<Found> = {}): Found {
  const rolls = createRollCall({ recipients: 3, poisoned: [nthUserId(PREFIXES.crowd, 2)] }, [campaign]);
  for (const [n, state] of states)
    rolls.note({ kind: 'state', channelId: '1', lid: 'c:0', user: nthUserId(PREFIXES.crowd, n), state });
  const memory = { peaks: {}, stop: () => Promise.resolve() };
  return {
    run: {
      ...{ seed: 1, recipients: 3, stopped: [], faultsEndedAt: '', open: [], populateMs: 0, sendMs: 0 },
      memory,
    },
    ...{ history: HISTORY, rolls: rolls.campaigns, fleet: { ended: [] }, checkMs: 0, kills: [], faults: {}, audit: [] },
    ...{ results: [{ lid: 'c:0', status: 'sent', counts: COUNTS }], summary: [LINE] },
    stops: [],
    pace: { attempts: 1, perSecond: 1, p50Ms: 1, p99Ms: 1 },
    ...changed,
  };
}

const ALL = [0, 1, 2].map((n) => [n, 'accepted'] as const);

test('when everybody is called once and the counts agree with those of LINE, nothing is found', () => {
  expect(reportOf(found(ALL))).toMatchObject({ ok: true, violations: 0, states: { accepted: 3 } });
});

test('whoever is in no state, or in one that is no end, is unexplained; whoever is in two requests that ended is told', () => {
  const missing = reportOf(
    found([
      [0, 'accepted'],
      [1, 'planned'],
    ]),
  );
  expect(missing).toMatchObject({ ok: false, unexplained: 2 });
  expect(missing.samples).toMatchObject({ unexplained: ['person 1 of c:0', 'person 2 of c:0'] });
  expect(reportOf(found([...ALL, [2, 'cancelled']]))).toMatchObject({ ok: false, twice: 1 });
});

test.for<[string, Partial<Found>]>([
  ['counts people who do not exist', { results: [{ lid: 'c:0', status: 'sent', counts: { ...COUNTS, expired: 1 } }] }],
  [
    'counts people refused for no fault of theirs',
    { results: [{ lid: 'c:0', status: 'sent', counts: { ...COUNTS, accepted: 2, refused: 1 } }], summary: [LINE] },
  ],
  ['counts more accepted than LINE reached', { summary: [{ ...LINE, receipts: 1 }] }],
  ['counts fewer than LINE reached', { summary: [{ ...LINE, receipts: 3 }] }],
])('a campaign that %s is found', ([, changed]) => {
  expect(reportOf(found(ALL, changed))).toMatchObject({ ok: false });
  expect(reportOf(found(ALL, changed)).miscounted).toBeGreaterThan(0);
});

test('whoever is called invalid though LINE takes them is told, and whoever LINE refuses is not', () => {
  const states = (invalid: number) => ALL.map(([n, state]) => [n, n === invalid ? 'invalid' : state] as const);

  expect(reportOf(found(states(1)))).toMatchObject({ blamed: 1 });
  expect(reportOf(found(states(2)))).toMatchObject({ blamed: 0 });
});

test('whether LINE reached those whose fate is unknown is not asked', () => {
  const counts = { ...COUNTS, accepted: 2, unknown: 1 };
  const states = [...ALL.slice(0, 2), [2, 'unknown'] as const];
  for (const receipts of [1, 2])
    expect(
      reportOf(found(states, { results: [{ lid: 'c:0', status: 'sent', counts }], summary: [{ ...LINE, receipts }] })),
    ).toMatchObject({ ok: true });
});

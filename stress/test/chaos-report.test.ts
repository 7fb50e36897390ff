import type { ExportRecord, HistoryReport, InvariantId, RecipientState } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { reportOf } from '../src/chaos/report.ts';

const counts = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`H${n + 1}`, 0])) as Record<
  InvariantId,
  number
>;
const HISTORY: HistoryReport = {
  ...{ ok: true, counts, skipped: [], violations: {}, findings: [] },
  checked: { recipients: 1, attempts: 2, requests: 2, accepts: 1, receipts: 1 },
};
const WHO = { channelId: '1', lid: 'now', user: 'U1' };
const stateOf = (state: RecipientState): ExportRecord => ({ kind: 'state', ...WHO, state });
const FOUND = {
  ...{
    seed: 3,
    minutes: 1,
    history: HISTORY,
    records: [stateOf('accepted')],
    planned: [WHO],
    poisoned: ['U2'],
    faults: { F05: 2 },
  },
  ...{ fleet: { counts: { kills: 1, stops: 0 }, ended: [] }, withoutMenu: [], open: [] },
};

test('a run in which everybody is accounted for is well', () => {
  expect(reportOf(FOUND)).toMatchObject({
    ok: true,
    seed: 3,
    planned: 1,
    states: { accepted: 1 },
    kills: 1,
    unexplained: 0,
    wronged: 0,
  });
});

test('whoever is called invalid is wronged, unless LINE refused them for themselves', () => {
  const records = [stateOf('invalid'), { ...stateOf('invalid'), user: 'U2' }];
  expect(reportOf({ ...FOUND, records })).toMatchObject({
    ...{ ok: false, wronged: 1, states: { invalid: 2 } },
    samples: { wronged: ['now of U1 on 1'] },
  });
});

test.for([
  ['somebody of whom the product says nothing', { records: [] }, { unexplained: 1 }],
  ['somebody who is still planned', { records: [stateOf('planned')] }, { unexplained: 1 }],
  ['a row that is open', { open: ['delivery 1 is sending'] }, { open: 1 }],
  ['a friend without their menu', { withoutMenu: ['U1'] }, { withoutMenu: 1 }],
  ['a process that ended by itself', { fleet: { ...FOUND.fleet, ended: ['x ended with 1'] } }, { ended: 1 }],
  [
    'a double',
    { history: { ...HISTORY, ok: false, counts: { ...counts, H1: 1 } } },
    { doubled: 1, invariants: { H1: 1 } },
  ],
  ['a loss', { history: { ...HISTORY, ok: false, counts: { ...counts, H2: 1 } } }, { lost: 1, invariants: { H2: 1 } }],
  ['an invariant that was not checked', { history: { ...HISTORY, skipped: ['H7' as const] } }, {}],
] as const)('a run with %s is not', ([, change, shows]) => {
  expect(reportOf({ ...FOUND, ...change })).toMatchObject({ ok: false, ...shows });
});

import { expect, test } from 'vitest';
import {
  checkHistory,
  type ExportRecord,
  type FaultRule,
  type HistoryReport,
  type InvariantId,
} from '../../src/index.ts';
import { CHANNEL, call, manualClock, start, user } from '../support.ts';
import { dispatch, type Mistake } from './dispatcher.ts';

const HOUR_MS = 3_600_000;
const users = (...numbers: number[]) => numbers.map(user);

interface Circumstance {
  readonly faults?: readonly FaultRule[];
  readonly diesAfter?: readonly number[];
  /** The audience once so many requests were sent. */
  readonly audience?: (requests: number) => string[];
  readonly faultsLastMs?: number;
}

/** What goes wrong with the first request; before LINE takes it, or after. */
const first = (phase: 'beforeAccept' | 'afterAccept', effect: FaultRule['effect']): FaultRule => ({
  id: 'first-request',
  match: { endpoint: 'multicast', nth: [1] },
  phase,
  effect,
});
const CUT_AFTER_ACCEPT = first('afterAccept', { type: 'reset' });
const OUTAGE: FaultRule = {
  id: 'outage',
  match: { untilMs: 25 * HOUR_MS },
  phase: 'beforeAccept',
  effect: { type: 'reset' },
};

const REFUSED_AGAIN: FaultRule = {
  id: 'second-attempt',
  match: { endpoint: 'multicast', keyAttempt: [2] },
  phase: 'beforeAccept',
  effect: { type: 'status', status: 400 },
};

/** Each mistake, what must happen for it to matter, and what the checker must say of it. */
const MISTAKES: Record<Mistake, [what: string, Circumstance, invariants: InvariantId[], codes: string[]]> = {
  M1: ['takes a random key for each attempt', { faults: [CUT_AFTER_ACCEPT] }, ['H1', 'H8'], ['V12']],
  M2: ['sends without a key', { faults: [CUT_AFTER_ACCEPT] }, ['H1', 'H8'], ['V1']],
  M3: [
    'retries with the old key after its 24 hours',
    {
      faults: [CUT_AFTER_ACCEPT, OUTAGE],
      faultsLastMs: 25 * HOUR_MS,
    },
    ['H1', 'H8'],
    ['V4'],
  ],
  M4: [
    'takes a 500 for a refusal and plans its members anew',
    { faults: [first('afterAccept', { type: 'status', status: 500 })] },
    ['H1', 'H8'],
    ['V12'],
  ],
  M5: [
    'goes on before the answer is there',
    { faults: [first('beforeAccept', { type: 'status', status: 500 })] },
    ['H2'],
    [],
  ],
  M6: [
    'derives the key from the audience of the moment',
    { faults: [CUT_AFTER_ACCEPT], audience: (requests) => users(1, 2, 3, 4, 5, 6).slice(0, requests === 0 ? 6 : 5) },
    ['H1', 'H8'],
    ['V12'],
  ],
  M7: [
    'reads its chunks by offset from the audience of the moment',
    { audience: (requests) => (requests === 0 ? users(1, 2, 3, 4, 5, 6) : users(6, 1, 2, 3, 4, 5)) },
    ['H1', 'H2', 'H8'],
    ['V12'],
  ],
  M8: ['takes a 409 for a failure', { faults: [CUT_AFTER_ACCEPT] }, ['H1', 'H8'], ['V12']],
  M9: ['leaves a user twice in the audience', { audience: () => users(1, 2, 2, 4, 5, 6) }, ['H1'], ['V9']],
  M10: ['takes up a dead process’s work under a new key', { diesAfter: [1] }, ['H1', 'H8'], ['V12']],
  M11: [
    'splits on a 400 after an attempt that ended in doubt',
    { faults: [CUT_AFTER_ACCEPT, REFUSED_AGAIN] },
    ['H1', 'H8'],
    ['V12'],
  ],
  M12: ['follows redirects', { faults: [first('beforeAccept', { type: 'redirect' })] }, ['H2'], ['V7']],
  M13: ['takes a 429 for an acceptance', { faults: [first('beforeAccept', { type: 'rateLimit' })] }, ['H2'], []],
};

async function run(circumstance: Circumstance, mistake?: Mistake): Promise<HistoryReport> {
  const { faults = [], diesAfter = [], audience = () => users(1, 2, 3, 4, 5, 6), faultsLastMs = 0 } = circumstance;
  const clock = manualClock();
  const simulator = await start({}, clock);
  simulator.faults.set({ rules: faults });
  const startedAt = clock.now();
  const records = await dispatch({
    apiUrl: simulator.apiUrl,
    token: 'token-1',
    channelId: CHANNEL,
    clock,
    audience: () => audience([...simulator.ledger.requests()].length),
    diesAfter,
    mistake,
  });
  const { totalUsage } = (await call(simulator, '/v2/bot/message/quota/consumption')).body as { totalUsage: number };
  clock.advance(HOUR_MS);
  const endedAt = new Date(clock.now()).toISOString();
  const consumption: ExportRecord = { kind: 'consumption', channelId: CHANNEL, at: endedAt, totalUsage };
  return checkHistory({
    ledger: simulator.ledger,
    records: [...records, consumption],
    faultsEndedAt: new Date(startedAt + faultsLastMs).toISOString(),
    endedAt,
  });
}

const broken = ({ counts }: HistoryReport) => Object.entries(counts).flatMap(([id, count]) => (count > 0 ? [id] : []));
const CASES = Object.entries(MISTAKES).map(([id, mistake]) => [id as Mistake, ...mistake] as const);

test.each(CASES)(
  '%s: a client that %s is found out',
  { timeout: 30_000 },
  async (mistake, _what, circumstance, invariants, codes) => {
    const report = await run(circumstance, mistake);
    expect(broken(report)).toEqual(invariants);
    expect(Object.keys(report.violations)).toEqual(expect.arrayContaining(codes));
  },
);

test.each(CASES)(
  '%s: one that does not, and meets the same, is not',
  { timeout: 30_000 },
  async (_id, _what, circumstance) => {
    const report = await run(circumstance);
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({ ok: true, skipped: [], violations: {} });
    expect(report.checked.recipients).toBeGreaterThanOrEqual(5);
  },
);

test('a LINE that forgets a retry key is found out, and no client can help it', { timeout: 30_000 }, async () => {
  const forgets: FaultRule = { id: 'forgets', match: { keyAttempt: [2] }, effect: { type: 'forgetKey' } };
  const report = await run({ faults: [CUT_AFTER_ACCEPT, forgets] });
  expect(broken(report)).toEqual(['H1']);
  expect(report.findings[0]).toMatchObject({
    accepts: [{ retryKey: expect.any(String) }, { retryKey: expect.any(String) }],
    attempts: [{ outcome: 'AMBIGUOUS' }, { outcome: 'ACCEPTED' }],
    faultIds: ['first-request', 'forgets'],
  });
});

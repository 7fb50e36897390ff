import { expect, test } from 'vitest';
import { checkHistory, type ExportRecord, type HistoryReport, type InvariantId } from '../../src/index.ts';
import { CHANNEL, call, manualClock, start, user } from '../support.ts';
import { type Breakage, breakLine } from './broken-line.ts';
import { dispatch, type Mistake } from './dispatcher.ts';

const HOUR_MS = 3_600_000;
const users = (...numbers: number[]) => numbers.map(user);

interface Circumstance {
  readonly breakages?: readonly Breakage[];
  readonly diesAfter?: readonly number[];
  /** The audience once so many requests were sent. */
  readonly audience?: (requests: number) => string[];
  readonly faultsLastMs?: number;
}

const CUT_AFTER_ACCEPT: Breakage = { nth: [1], phase: 'afterAccept', effect: { type: 'reset' } };
const status = (nth: number, code: number, phase: Breakage['phase'] = 'beforeAccept'): Breakage => ({
  nth: [nth],
  phase,
  effect: { type: 'status', status: code },
});

/** Each mistake, what must happen for it to matter, and what the checker must say of it. */
const MISTAKES: Record<Mistake, [what: string, Circumstance, invariants: InvariantId[], codes: string[]]> = {
  M1: ['takes a random key for each attempt', { breakages: [CUT_AFTER_ACCEPT] }, ['H1', 'H8'], ['V12']],
  M2: ['sends without a key', { breakages: [CUT_AFTER_ACCEPT] }, ['H1', 'H8'], ['V1']],
  M3: [
    'retries with the old key after its 24 hours',
    {
      breakages: [CUT_AFTER_ACCEPT, { untilMs: 25 * HOUR_MS, phase: 'beforeAccept', effect: { type: 'reset' } }],
      faultsLastMs: 25 * HOUR_MS,
    },
    ['H1', 'H8'],
    ['V4'],
  ],
  M4: [
    'takes a 500 for a refusal and plans its members anew',
    { breakages: [status(1, 500, 'afterAccept')] },
    ['H1', 'H8'],
    ['V12'],
  ],
  M5: ['goes on before the answer is there', { breakages: [status(1, 500)] }, ['H2'], []],
  M6: [
    'derives the key from the audience of the moment',
    { breakages: [CUT_AFTER_ACCEPT], audience: (requests) => users(1, 2, 3, 4, 5, 6).slice(0, requests === 0 ? 6 : 5) },
    ['H1', 'H8'],
    ['V12'],
  ],
  M7: [
    'reads its chunks by offset from the audience of the moment',
    { audience: (requests) => (requests === 0 ? users(1, 2, 3, 4, 5, 6) : users(6, 1, 2, 3, 4, 5)) },
    ['H1', 'H2', 'H8'],
    ['V12'],
  ],
  M8: ['takes a 409 for a failure', { breakages: [CUT_AFTER_ACCEPT] }, ['H1', 'H8'], ['V12']],
  M9: ['leaves a user twice in the audience', { audience: () => users(1, 2, 2, 4, 5, 6) }, ['H1'], ['V9']],
  M10: ['takes up a dead process’s work under a new key', { diesAfter: [1] }, ['H1', 'H8'], ['V12']],
  M11: [
    'splits on a 400 after an attempt that ended in doubt',
    { breakages: [CUT_AFTER_ACCEPT, status(2, 400)] },
    ['H1', 'H8'],
    ['V12'],
  ],
  M12: [
    'follows redirects',
    { breakages: [{ nth: [1], phase: 'beforeAccept', effect: { type: 'redirect', status: 302 } }] },
    ['H2'],
    ['V7'],
  ],
  M13: ['takes a 429 for an acceptance', { breakages: [status(1, 429)] }, ['H2'], []],
};

async function run(circumstance: Circumstance, mistake?: Mistake): Promise<HistoryReport> {
  const { breakages = [], diesAfter = [], audience = () => users(1, 2, 3, 4, 5, 6), faultsLastMs = 0 } = circumstance;
  const clock = manualClock();
  const simulator = await start({}, clock);
  const line = await breakLine({ apiUrl: simulator.apiUrl, ledger: simulator.ledger, clock }, breakages);
  const startedAt = clock.now();
  try {
    const records = await dispatch({
      apiUrl: line.url,
      token: 'token-1',
      channelId: CHANNEL,
      clock,
      audience: () => audience(line.count),
      diesAfter,
      mistake,
    });
    const { totalUsage } = (await call(simulator, '/v2/bot/message/quota/consumption')).body as { totalUsage: number };
    clock.advance(HOUR_MS);
    const endedAt = new Date(clock.now()).toISOString();
    const consumption: ExportRecord = { kind: 'consumption', channelId: CHANNEL, at: endedAt, totalUsage };
    return await checkHistory({
      ledger: line.ledger,
      records: [...records, consumption],
      faultsEndedAt: new Date(startedAt + faultsLastMs).toISOString(),
      endedAt,
    });
  } finally {
    await line.close();
  }
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

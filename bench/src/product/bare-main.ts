import { inTransaction, openDatabase } from '@dueline/db';
import { type Claim, claimBatch, createDueAccounts, finishActions } from '@dueline/scheduled-actions';

const LIMIT = 500;

/** What one process did that claims and finishes, and nothing else. */
export interface BareResult {
  /** When it began, after it had connected, and when all was finished, in milliseconds of the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Of each claim, in milliseconds, first to last. */
  readonly claimMs: readonly number[];
  readonly claimed: number;
  /** Processor time until it began. */
  readonly bootCpuSeconds: number;
  readonly finished: number;
}

const { db, warmUp, close } = openDatabase({
  url: process.env.DATABASE_URL ?? '',
  applicationName: 'bench',
  maxConnections: 2,
  onError: (error) => process.stderr.write(`${String(error)}\n`),
});
await warmUp(2);
const claim: Claim = {
  ...{ claimedBy: 'bench:1', via: 'inline', limit: LIMIT, leaseSeconds: 300, overdueMs: 0 },
  ...{ maxProcessing: Number.MAX_SAFE_INTEGER, accounts: createDueAccounts() },
};
const claimMs: number[] = [];
const { user, system } = process.cpuUsage();
const bootCpuSeconds = (user + system) / 1e6;
const startedAt = Date.now();
let claimed = 0;
let finished = 0;
let finishing: Promise<void> = Promise.resolve();
for (;;) {
  const before = performance.now();
  const tickets = await claimBatch(db, claim);
  if (tickets.length === 0) break;
  claimMs.push(performance.now() - before);
  claimed += tickets.length;
  await finishing;
  finishing = inTransaction(db, async (tx) => {
    const moved = await finishActions(
      tx,
      tickets.map(({ id, fence }) => ({ id, fence, to: 'done' })),
    );
    finished += moved.size;
  });
}
await finishing;
const result: BareResult = { startedAt, endedAt: Date.now(), claimMs, claimed, finished, bootCpuSeconds };
process.stdout.write(`${JSON.stringify(result)}\n`);
await close();
process.stdin.resume(); // until the parent has read our processor time, which is gone with us

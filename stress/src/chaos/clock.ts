import { jumpAhead } from '@dueline/db';
import type { Stack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import type { ToProductTime } from './export.ts';

/** Moves the time of the product and of LINE, and remembers when it did. */
export interface ProductClock {
  /** Goes on though keys are in doubt. False when requests were on their way to LINE for so long that nothing moved. */
  ahead(seconds: number, patienceMs?: number): Promise<boolean>;
  readonly toProductTime: ToProductTime;
  now(): string;
}

const POLL_MS = 10;
const PATIENCE_MS = 120_000;

export function createProductClock({ database, line }: Pick<Stack, 'database' | 'line'>): ProductClock {
  const jumps: { readonly atMs: number; readonly aheadMs: number }[] = [];
  const moveOthers = async (aheadSeconds: number): Promise<void> => {
    await line.moveClock(aheadSeconds * 1_000);
    jumps.push({ atMs: Date.now(), aheadMs: aheadSeconds * 1_000 });
  };
  const toProductTime: ToProductTime = (processMs) =>
    processMs + (jumps.findLast(({ atMs }) => atMs <= processMs)?.aheadMs ?? 0);
  return {
    toProductTime,
    now: () => new Date(toProductTime(Date.now())).toISOString(),
    ahead: async (seconds, patienceMs = PATIENCE_MS) => {
      for (const deadline = performance.now() + patienceMs; performance.now() < deadline; await sleep(POLL_MS))
        if ((await jumpAhead(database.db, { seconds, moveOthers, leavesDoubts: true })) !== undefined) return true;
      return false;
    },
  };
}

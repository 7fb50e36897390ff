import { sleep } from '@dueline/kernel';
import { type CycleProgress, cycleProgress } from '@dueline/scheduled-cycles';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CycleStage, everybodyMet, startCycleStage } from './cycle-stage.ts';

const USERS = 100_000;
const KILLS = 20;
const SETTINGS = {
  CLAIM_LEASE_SECONDS: '5',
  REAP_INTERVAL_SECONDS: '0.5',
  DELIVERY_ANNOUNCE_AGAIN_SECONDS: '2',
};
const PATIENCE_MS = 3_600_000;

let stage: CycleStage;
beforeAll(async () => {
  stage = await startCycleStage({ users: USERS, settings: SETTINGS });
}, 600_000);
afterAll(() => stage?.stack.stop());

/** Not one moment of these may say something else than the sums that they are, or fewer people than before. */
function judge(before: CycleProgress, now: CycleProgress): void {
  expect(now.open + now.processed + now.failed).toBe(now.total);
  expect(Math.min(now.open, now.processed, now.failed)).toBeGreaterThanOrEqual(0);
  expect(now.total).toBeGreaterThanOrEqual(before.total);
  expect(now.processed).toBeGreaterThanOrEqual(before.processed);
  expect(now.total).toBeLessThanOrEqual(USERS);
}

const NOTHING: CycleProgress = { total: 0, open: 0, processed: 0, failed: 0, suppressed: 0, isReading: true };

/** Kills while people are read, then while their actions are decided, and looks at the progress all the while. */
async function killAndLook(executionId: string): Promise<{ kills: number; looks: number }> {
  const { stack, tenant, rowsOf, kill } = stage;
  let before = NOTHING;
  let kills = 0;
  let looks = 0;
  for (; ; looks += 1) {
    if ((await rowsOf(`select from scheduled_trigger_execution where status <> 'processing'`)).length > 0) break;
    const now = (await cycleProgress(stack.database.db, tenant, { executionId })) ?? NOTHING;
    judge(before, now);
    before = now;
    if (kills < KILLS && (now.total + now.processed) / (2 * USERS) >= (kills + 0.5) / KILLS) {
      await kill(kills % 4 === 1 ? 'cron-scheduler' : 'trigger-worker');
      kills += 1;
    }
    await sleep(200);
  }
  return { kills, looks };
}

test('a cycle of a hundred thousand whose processes are killed twenty times meets everybody once, and its counts add up', {
  timeout: PATIENCE_MS,
}, async () => {
  const begun = performance.now();
  const { kills, looks } = await killAndLook(await stage.runNow());
  process.stdout.write(`${kills} kills, ${looks} looks, ${Math.round((performance.now() - begun) / 1_000)} s\n`);
  expect(kills).toBe(KILLS);
  expect(await stage.outcome()).toEqual(everybodyMet(USERS));
});

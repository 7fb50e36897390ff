import type { AppName } from '@dueline/demo';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CycleStage, everybodyMet, startCycleStage } from './cycle-stage.ts';

const USERS = 6_000;
const SETTINGS = {
  CLAIM_LEASE_SECONDS: '2',
  REAP_INTERVAL_SECONDS: '0.5',
  DELIVERY_ANNOUNCE_AGAIN_SECONDS: '1',
};
const PATIENCE = { timeout: 120_000, interval: 20 };
/** The reader of the cycle dies at each of these shares of its people; then whoever opens, announces and counts. */
const DEATHS: readonly (readonly [AppName, number])[] = [
  ['trigger-worker', 0.1],
  ['cron-scheduler', 0.2],
  ['trigger-worker', 0.3],
  ['trigger-worker', 0.5],
  ['cron-scheduler', 0.6],
  ['trigger-worker', 0.8],
];

let stage: CycleStage;
beforeAll(async () => {
  stage = await startCycleStage({ users: USERS, settings: SETTINGS });
});
afterAll(() => stage?.stack.stop());

test('a cycle whose readers and schedulers are killed meets everybody once, and its counts add up', async () => {
  await stage.runNow();
  const read = async () => Number((await stage.outcome()).cycle[0]?.total);
  for (const [name, share] of DEATHS) {
    await expect.poll(read, PATIENCE).toBeGreaterThanOrEqual(share * USERS);
    await stage.kill(name);
  }
  await expect.poll(async () => (await stage.outcome()).cycle[0]?.status, PATIENCE).toBe('completed');
  expect(await stage.outcome()).toEqual(everybodyMet(USERS));
});

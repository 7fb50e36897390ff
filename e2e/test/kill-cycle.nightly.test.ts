import { sleep } from '@dueline/kernel';
import { CLEAN } from '@dueline/stress';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allKillsOf, killAt } from './kill/cases.ts';
import { CYCLE_FRIENDS } from './kill/cycle-wave.ts';
import { type Stage, startStage } from './kill/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
}, 300_000);
afterAll(() => stage?.stack.stop());

const cycles = async () =>
  (
    await stage.stack.database.db.$client.query<{ cycle: string }>(
      `select concat_ws(' ', status, total_users, enqueued_users, processed_users, failed_users) as cycle from scheduled_trigger_execution order by id desc`,
    )
  ).rows.map(({ cycle }) => cycle);

const PATIENCE_MS = 120_000;

test.for(allKillsOf('cycles'))(
  'killed at %s and %s: everybody of a cycle is met once, and its counts add up',
  { timeout: 2 * PATIENCE_MS },
  async (kill) => {
    await killAt(stage, kill, 'cycles');
    const deadline = performance.now() + PATIENCE_MS;
    while ((await cycles()).some((cycle) => cycle.startsWith('processing')) && performance.now() < deadline)
      await sleep(50);
    const all = await cycles();
    expect(all).toEqual(all.map(() => `completed ${CYCLE_FRIENDS} ${CYCLE_FRIENDS} ${CYCLE_FRIENDS} 0`));
  },
);

test('over everything that was written here: nothing is lost, doubled or stuck', { timeout: PATIENCE_MS }, async () => {
  expect(await stage.outcomeOfAll()).toEqual(CLEAN);
});

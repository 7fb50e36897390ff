import { CLEAN } from '@dueline/stress';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allKillsOf, killAt } from './kill/cases.ts';
import { type Stage, startStage } from './kill/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.stack.stop());

test.for(allKillsOf('events'))('killed at %s and %s: nothing is lost, doubled or stuck [T06] [T07] [T25]', (kill) =>
  killAt(stage, kill, 'events'),
);

test.for(allKillsOf('campaigns'))(
  'killed at %s and %s: nobody of a campaign is skipped, doubled or stuck [T06] [T07]',
  (kill) => killAt(stage, kill, 'campaigns'),
);

test('over everything that was written here: nothing is lost, doubled or stuck', async () => {
  expect(await stage.outcomeOfAll()).toEqual(CLEAN);
});

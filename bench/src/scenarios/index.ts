import type { Scenario } from '../scenario.ts';
import { crashScenario } from './crash.ts';
import { drainScenario } from './drain.ts';
import { drainBesideScenario } from './drain-beside.ts';
import { drainHeldScenario } from './drain-held.ts';
import { eventScenario } from './event.ts';
import { fanoutScenario } from './fanout.ts';
import { historyScenario } from './history.ts';
import { lateScenario } from './late.ts';
import { mqScenario } from './mq.ts';
import { pushScenario } from './push.ts';
import { replicasScenario } from './replicas.ts';
import { resultsScenario } from './results.ts';
import { scheduleScenario } from './schedule.ts';
import { soakScenario } from './soak.ts';
import { tickScenario } from './tick.ts';

export const SCENARIOS: readonly Scenario[] = [
  drainScenario,
  drainBesideScenario,
  drainHeldScenario,
  replicasScenario,
  lateScenario,
  scheduleScenario,
  mqScenario,
  pushScenario,
  resultsScenario,
  eventScenario,
  historyScenario,
  fanoutScenario,
  tickScenario,
  crashScenario,
  soakScenario,
];

import { runFromCopy } from './run-from-copy.ts';
import type { LineChange } from './sources.ts';

const accept = (file: string, line: string, changed: string): LineChange => ({ file, line, changed });
const ACTIONS = 'packages/scheduled-actions/src';
const DELIVERIES = 'packages/deliveries/src';

/** Every place where the fence of an action or of its message that somebody saw is compared with that of the row. */
const FENCE_CONDITIONS: readonly LineChange[] = [
  accept(`${ACTIONS}/hold.ts`, 'on action.id = ticket.id and action.fence = ticket.fence', 'on action.id = ticket.id'),
  accept(
    `${ACTIONS}/release.ts`,
    'on action.id = ticket.id and action.fence = ticket.fence',
    'on action.id = ticket.id',
  ),
  accept(
    `${ACTIONS}/finish.ts`,
    'action.id = outcome.id and action.fence = outcome.fence and',
    'action.id = outcome.id and',
  ),
  accept(`${ACTIONS}/operate/refusal.ts`, 'case when action.fence <> ticket.fence then', 'case when false then'),
  accept(
    `${DELIVERIES}/start.ts`,
    'on delivery.id = ticket.id and delivery.fence = ticket.fence',
    'on delivery.id = ticket.id',
  ),
  accept(
    `${DELIVERIES}/announce.ts`,
    'on delivery.id = ticket.id and delivery.fence = ticket.fence',
    'on delivery.id = ticket.id',
  ),
  accept(
    `${DELIVERIES}/settle.ts`,
    "(delivery.status = 'sending' and delivery.fence = verdict.fence)",
    "(delivery.status = 'sending')",
  ),
];

/** Runs the same command from a copy of the sources in which no fence is compared. @returns Its exit code. */
export const runWithoutFence = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  runFromCopy({ main: 'stress/src/main.ts', args, env, changes: FENCE_CONDITIONS });

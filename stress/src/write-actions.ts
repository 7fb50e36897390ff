import type { Delay } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { type ActionToSchedule, scheduleMany } from '@dueline/scheduled-actions';
import { type Account, CONDITION, userOf } from './accounts.ts';
import type { PlannedAction } from './plan.ts';

/** The mark of a message: of which action, and which version of its content; `x` is what is sent instead when a wait is over. */
export const markOf = (n: number, version: number | 'x'): string => `a${n}.${version}`;

/** The content that bears a mark. */
export const messagesOf = (n: number, version: number | 'x') => [
  { type: 'text' as const, text: `hello [[lid:${markOf(n, version)}]]` },
];

/** Schedules planned actions as a caller of the package would, in one transaction. @returns Their ids, by number. */
export async function writeActions(
  db: Db,
  accounts: readonly Account[],
  actions: readonly PlannedAction[],
): Promise<Map<number, string>> {
  const results = await inTransaction(db, (tx) =>
    scheduleMany(
      tx,
      actions.map((action) => toSchedule(action, accounts)),
    ),
  );
  return new Map(
    results.map((result, at) => {
      const n = actions[at]?.n;
      if (n === undefined || result.result !== 'made') throw new Error(`action ${n} was not made: ${result.result}`);
      return [n, result.id];
    }),
  );
}

function toSchedule(action: PlannedAction, accounts: readonly Account[]): ActionToSchedule {
  const account = accounts[action.account];
  if (account === undefined) throw new Error(`there is no account ${action.account}`);
  const { organizationId, lineOaId, linkId } = account;
  return {
    ...{ organizationId, lineOaId, userId: userOf(action), dedupKey: `stress:${action.n}` },
    request: { actionType: 'send_message', actionConfig: { messages: messagesOf(action.n, 0) } },
    delay: delayOf(action, linkId),
    isBulk: action.n % 3 === 0,
    sourceConfig: action.kind === 'checked' ? CONDITION : null,
    ...{ triggerRuleId: null, ruleVersion: null, eventId: null, rootId: null, openKey: null, traceparent: undefined },
  };
}

function delayOf({ n, kind, delaySeconds, onExpired }: PlannedAction, linkId: string): Delay {
  if (kind !== 'waiting') return { mode: 'normal', seconds: delaySeconds, reEvaluateConditions: kind === 'checked' };
  return {
    mode: 'waitForTracking',
    expiresSeconds: delaySeconds,
    waits: [{ source: 'link', refId: linkId }],
    onExpired: onExpired === 'instead' ? { do: 'instead', messages: messagesOf(n, 'x') } : { do: onExpired },
    reEvaluateConditions: false,
  };
}

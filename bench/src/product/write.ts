import { randomUUID } from 'node:crypto';
import type { ActionToSchedule } from '@dueline/scheduled-actions';
import { CONDITION, MESSAGE, PEOPLE, type Product, userOf } from './product.ts';

/** The n-th action of a run, for the n-th person of the accounts by turns, due in so many seconds. */
export function actionOf({ accounts }: Product, n: number, seconds: number): ActionToSchedule {
  const account = accounts[n % accounts.length];
  if (account === undefined) throw new Error('there is no account');
  const { organizationId, lineOaId, ruleId } = account;
  const eventId = randomUUID();
  return {
    ...{ organizationId, lineOaId, triggerRuleId: ruleId, ruleVersion: 1, eventId, rootId: eventId },
    userId: userOf(n % PEOPLE),
    request: { actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: MESSAGE }] } },
    delay: { mode: 'normal', seconds, reEvaluateConditions: true },
    ...{ isBulk: false, sourceConfig: CONDITION, dedupKey: `ev:${eventId}`, openKey: null, traceparent: undefined },
  };
}

import type { Tenant } from '@dueline/contracts';
import type { ActionToSchedule } from './schedule.ts';

/** A message to the first user of an account, due after `delaySeconds`; every call stands for another piece of work. */
export function actionToSchedule(
  tenant: Tenant,
  { delaySeconds = 0, ...changes }: Partial<ActionToSchedule> & { delaySeconds?: number } = {},
): ActionToSchedule {
  return {
    ...tenant,
    userId: `U${'1'.padStart(32, '0')}`,
    request: { actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'hello' }] } },
    delay: { mode: 'normal', seconds: delaySeconds, reEvaluateConditions: false },
    isBulk: false,
    sourceConfig: null,
    triggerRuleId: null,
    ruleVersion: null,
    eventId: null,
    rootId: null,
    dedupKey: crypto.randomUUID(),
    openKey: null,
    traceparent: undefined,
    ...changes,
  };
}

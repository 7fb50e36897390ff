import type { Tenant } from '@dueline/contracts';
import type { ActionToSchedule } from './schedule.ts';

/** A message to the first user of an account, due at once; every call stands for another piece of work. */
export function actionToSchedule(tenant: Tenant, changes: Partial<ActionToSchedule> = {}): ActionToSchedule {
  return {
    ...tenant,
    userId: `U${'1'.padStart(32, '0')}`,
    request: { actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'hello' }] } },
    delaySeconds: 0,
    sourceConfig: null,
    triggerRuleId: null,
    ruleVersion: null,
    eventId: null,
    rootId: null,
    dedupKey: crypto.randomUUID(),
    traceparent: undefined,
    ...changes,
  };
}

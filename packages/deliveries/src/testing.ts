import type { Tenant } from '@dueline/contracts';
import type { DeliveryToCreate } from './create.ts';

/** A push of one text to the first user of an account; every call stands for another logical send. */
export function deliveryToCreate(tenant: Tenant, changes: Partial<DeliveryToCreate> = {}): DeliveryToCreate {
  return {
    ...tenant,
    channelId: '2000000001',
    kind: 'event',
    logicalId: `${crypto.randomUUID()}:1`,
    epoch: 1,
    userId: `U${'1'.padStart(32, '0')}`,
    request: { actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'hello 🎉' }] } },
    triggerRuleId: null,
    scheduledActionId: null,
    eventId: null,
    rootId: null,
    traceparent: undefined,
    ...changes,
  };
}

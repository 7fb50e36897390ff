import type { WebhookData } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import type { DeliveryToCreate } from './create.ts';
import { type CreatedDelivery, insertDeliveries } from './insert.ts';

/** A decided call of a receiver on the web. */
export interface WebhookDeliveryToCreate extends Omit<DeliveryToCreate, 'request'> {
  readonly url: string;
  /** As it is about this person, nothing left to fill in. */
  readonly data: WebhookData;
}

/** How the body of a webhook's row begins; what follows, up to the last brace, are the exact bytes that the receiver gets. */
export const beginOf = (url: string): string => `{"url":${JSON.stringify(url)},"payload":`;

/** The same as createDeliveries for webhooks. Their retry keys are the ids that receivers get. */
export const createWebhookDeliveries = (
  tx: Tx,
  calls: readonly WebhookDeliveryToCreate[],
): Promise<CreatedDelivery[]> =>
  insertDeliveries(
    tx,
    calls.map(({ url, data, ...call }) => ({
      ...call,
      endpoint: 'webhook' as const,
      ordinal: 0,
      splitPath: '',
      campaignId: null,
      chunkNo: null,
      body: { own: `${beginOf(url)}${payloadOf(call, data)}`, shared: '}' },
      deliverUntil: null,
    })),
  );

/** What the receiver is told. It only grows. */
function payloadOf(
  { channelId, userId, triggerRuleId, eventId, scheduledActionId }: Omit<WebhookDeliveryToCreate, 'url' | 'data'>,
  data: WebhookData,
): string {
  return JSON.stringify({
    type: 'rule.fired',
    channelId,
    userId,
    ruleId: triggerRuleId,
    eventId,
    actionId: scheduledActionId,
    data,
  });
}

import type { ActionRequest, Tenant } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { type CreatedDelivery, insertDeliveries, requestBody } from './insert.ts';

/** An action that was decided and shall reach one person. */
export interface DeliveryToCreate extends Tenant {
  readonly channelId: string;
  readonly kind: 'action' | 'event';
  readonly logicalId: string;
  readonly epoch: number;
  readonly userId: string;
  readonly request: ActionRequest<'send_message'>;
  readonly triggerRuleId: string | null;
  readonly scheduledActionId: string | null;
  readonly eventId: string | null;
  readonly rootId: string | null;
  readonly traceparent: string | undefined;
}

/**
 * none -> planned, due at once, with its retry key and the exact bytes of its request, in the transaction that finishes the
 * cause. A logical send that exists already is left out of what comes back. `published_at` is set, because the caller
 * publishes the tickets as soon as it has committed; {@link unpublishDeliveries} takes that back.
 */
export const createDeliveries = (tx: Tx, sends: readonly DeliveryToCreate[]): Promise<CreatedDelivery[]> =>
  insertDeliveries(
    tx,
    sends.map((send) => ({
      ...send,
      endpoint: 'push',
      ordinal: 0,
      splitPath: '',
      campaignId: null,
      chunkNo: null,
      body: requestBody({ to: send.userId, messages: send.request.actionConfig.messages }),
      deliverUntil: null,
    })),
  );

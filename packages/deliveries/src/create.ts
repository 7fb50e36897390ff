import { MAX_MESSAGES_PER_REQUEST, type Tenant, type TextMessage } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { type CreatedDelivery, type DeliveryRow, insertDeliveries, requestBody } from './insert.ts';

/** An action that was decided and shall reach one person. */
export interface DeliveryToCreate extends Tenant {
  readonly channelId: string;
  readonly kind: 'action' | 'event';
  readonly logicalId: string;
  readonly epoch: number;
  readonly userId: string;
  /** With its messages as this person gets them, nothing left to fill in. */
  readonly request: {
    readonly actionType: 'send_message';
    readonly actionConfig: { readonly messages: readonly TextMessage[] };
  };
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
 *
 * More messages than LINE takes in one request are several deliveries, numbered by their ordinals, each with a key of its own: only the
 * first comes back. The next is due, and announced by the sweep, once LINE has accepted the one before; if that ends otherwise, it
 * is cancelled.
 */
export const createDeliveries = (tx: Tx, sends: readonly DeliveryToCreate[]): Promise<CreatedDelivery[]> =>
  insertDeliveries(tx, sends.flatMap(partsOf));

function partsOf(send: DeliveryToCreate): DeliveryRow[] {
  const { messages } = send.request.actionConfig;
  const part = {
    ...send,
    endpoint: 'push' as const,
    splitPath: '',
    campaignId: null,
    chunkNo: null,
    deliverUntil: null,
  };
  const bodyOf = (some: readonly TextMessage[]) => requestBody({ to: send.userId, messages: some });
  if (messages.length <= MAX_MESSAGES_PER_REQUEST) return [{ ...part, ordinal: 0, body: bodyOf(messages) }];
  const groupSize = Math.ceil(messages.length / MAX_MESSAGES_PER_REQUEST);
  return Array.from({ length: groupSize }, (_, ordinal) => {
    const from = ordinal * MAX_MESSAGES_PER_REQUEST;
    return { ...part, groupSize, ordinal, body: bodyOf(messages.slice(from, from + MAX_MESSAGES_PER_REQUEST)) };
  });
}

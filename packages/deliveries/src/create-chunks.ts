import type { Tenant, TextMessage } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { type CreatedDelivery, insertDeliveries, requestBody } from './insert.ts';

/** A frozen part of a campaign that shall go out as one request. */
export interface ChunkToCreate extends Tenant {
  readonly channelId: string;
  readonly campaignId: string;
  readonly chunkNo: number;
  /** At most 500; null: a broadcast to all friends of the account. */
  readonly userIds: readonly string[] | null;
  readonly messages: readonly TextMessage[];
  /** Instant after which it is not worth sending; null: a day from now. */
  readonly deliverUntil: string | null;
  /** Not before so many seconds have passed; left out: at once. */
  readonly startsInSeconds?: number | undefined;
}

/**
 * The same as {@link createDeliveries} for chunks of campaigns, in the transaction that freezes them: a multicast or a
 * broadcast each, whose retry key is that of (campaign, chunk number). What starts later is left out of what comes back: it is announced
 * at its time.
 */
export const createChunkDeliveries = (tx: Tx, chunks: readonly ChunkToCreate[]): Promise<CreatedDelivery[]> =>
  insertDeliveries(
    tx,
    chunks.map(({ userIds, messages, ...chunk }) => ({
      ...chunk,
      kind: 'campaign',
      logicalId: chunk.campaignId,
      epoch: 1,
      endpoint: userIds === null ? 'broadcast' : 'multicast',
      ordinal: chunk.chunkNo,
      splitPath: '',
      userId: null,
      triggerRuleId: null,
      scheduledActionId: null,
      eventId: null,
      rootId: null,
      body: requestBody({ to: userIds, messages }),
      traceparent: undefined,
    })),
  );

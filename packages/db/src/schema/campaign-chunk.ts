import { integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, tenantColumns } from './columns.ts';

/**
 * Whom one request of a campaign reaches: frozen content only, at most 500 people in id order, null for a broadcast. Written by
 * campaigns in the freeze, never changed (guarded); key, state and attempts are those of its row of delivery.
 */
export const campaignChunk = pgTable(
  'campaign_chunk',
  {
    campaignId: id('campaign_id').notNull(),
    chunkNo: integer('chunk_no').notNull(),
    ...tenantColumns,
    userIds: text('user_ids').array(),
    userCount: integer('user_count'),
  },
  (table) => [primaryKey({ columns: [table.campaignId, table.chunkNo] })],
);

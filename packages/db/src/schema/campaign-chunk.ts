import { sql } from 'drizzle-orm';
import { index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, tenantColumns } from './columns.ts';

/**
 * Whom one request of a campaign reaches: frozen content only, at most 500 people in id order, null for a broadcast. Written by
 * campaigns in the freeze, never changed (guarded); key, state and attempts are those of its row of delivery.
 * idx_campaign_chunk_first: whether it reached a person.
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
  (table) => [
    primaryKey({ columns: [table.campaignId, table.chunkNo] }),
    index('idx_campaign_chunk_first').on(table.campaignId, sql`(user_ids[1])`),
  ],
);

import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';

/**
 * The rows that a process decides in one transaction with their claim, committed beside it: what a process that died leaves
 * here says which rows it died with. One row per process. Written by scheduled-actions.
 */
export const batchInHand = pgTable('batch_in_hand', {
  claimedBy: text('claimed_by').primaryKey(),
  actionIds: bigint('action_ids', { mode: 'bigint' }).array().notNull(),
  leaseUntil: instant('lease_until').notNull(),
});

import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';

/**
 * The rows that a process is deciding, committed beside the transaction that decides them and deleted by it: what is left of a
 * process that died says what it died with. One row per process. Written by db.
 */
export const batchInHand = pgTable('batch_in_hand', {
  claimedBy: text('claimed_by').primaryKey(),
  kind: text('kind', { enum: ['action', 'event'] }).notNull(),
  ids: bigint('ids', { mode: 'bigint' }).array().notNull(),
  leaseUntil: instant('lease_until').notNull(),
});

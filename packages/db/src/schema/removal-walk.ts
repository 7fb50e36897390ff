import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';

/**
 * How far the removal of ended work has come in each table that it walks by its primary key. Whoever holds the row removes. Written by db.
 */
export const removalWalk = pgTable('removal_walk', {
  tableName: text('table_name', { enum: ['scheduled_action', 'delivery'] }).primaryKey(),
  endedBefore: instant('ended_before'),
  afterId: bigint('after_id', { mode: 'bigint' }),
});

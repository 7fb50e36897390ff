import { sql } from 'drizzle-orm';
import { integer, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * Written ahead of each call by deliveries; a row without an outcome after a crash counts as ambiguous.
 */
export const deliveryAttempt = pgTable(
  'delivery_attempt',
  {
    deliveryId: id('delivery_id').notNull(),
    attemptNo: integer('attempt_no').notNull(),
    ...tenantColumns,
    fence: id('fence').notNull(),
    claimedBy: text('claimed_by').notNull(),
    retryKey: uuid('retry_key').notNull(),
    startedAt: instant('started_at').notNull().default(sql`clock_timestamp()`),
    finishedAt: instant('finished_at'),
    outcome: text('outcome', {
      enum: ['accepted', 'already', 'refused', 'auth', 'throttled', 'not_reached', 'ambiguous'],
    }),
    httpStatus: smallint('http_status'),
    lineRequestId: text('line_request_id'),
    detail: text('detail'),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.attemptNo] })],
);

import { sql } from 'drizzle-orm';
import { date, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, tenantColumns } from './columns.ts';

/**
 * What LINE says that it sent for an account on a day of UTC+9, beside what it had accepted from us. Written by deliveries.
 * idx_sent_count_waiting: the look for days that LINE may have counted by now.
 */
export const sentCount = pgTable(
  'sent_count',
  {
    ...tenantColumns,
    day: date('day').notNull(),
    status: text('status', { enum: ['waiting', 'agrees', 'deficit', 'not_told'] })
      .notNull()
      .default('waiting'),
    ours: jsonb('ours').notNull(),
    theirs: jsonb('theirs'),
    deficit: integer('deficit'),
    tolerated: integer('tolerated'),
    nextLookAt: instant('next_look_at').notNull().default(sql`app_now()`),
    comparedAt: instant('compared_at'),
    leaseUntil: instant('lease_until'),
  },
  (table) => [
    primaryKey({ columns: [table.lineOaId, table.day] }),
    index('idx_sent_count_waiting').on(table.nextLookAt).where(sql`status = 'waiting'`),
  ],
);

/** The days of UTC+9 of which our own figures are written down, each once. Written by deliveries. */
export const sentCountDay = pgTable('sent_count_day', {
  day: date('day').primaryKey(),
  countedAt: instant('counted_at').notNull().default(sql`app_now()`),
});

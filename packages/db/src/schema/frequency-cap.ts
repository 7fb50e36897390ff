import { sql } from 'drizzle-orm';
import { integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, tenantColumns } from './columns.ts';

/** At most so many messages to one person of an account within so many seconds. Written by trigger-rules. */
export const frequencyCap = pgTable(
  'frequency_cap',
  {
    ...tenantColumns,
    windowSeconds: integer('window_seconds').notNull(),
    maxMessages: integer('max_messages').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
  },
  (table) => [primaryKey({ columns: [table.lineOaId, table.windowSeconds] })],
);

/**
 * When rules decided to send something to a person, as far back as the caps of the account look. Written by trigger-rules in the deciding
 * transaction, which its row locks.
 */
export const messageTally = pgTable(
  'message_tally',
  {
    ...tenantColumns,
    userId: text('user_id').notNull(),
    sentAt: instant('sent_at').array().notNull().default([]),
  },
  (table) => [primaryKey({ columns: [table.lineOaId, table.userId] })],
);

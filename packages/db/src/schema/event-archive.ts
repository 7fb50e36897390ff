import { sql } from 'drizzle-orm';
import { boolean, index, jsonb, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { instant, tenantColumns } from './columns.ts';

/**
 * Decided events, monthly partitions. Written by the deciding transaction (db/changes).
 * idx_event_archive_user: the history of one user, newest first.
 */
export const eventArchive = pgTable(
  'event_archive',
  {
    eventId: uuid('event_id').notNull(),
    topic: text('topic').notNull(),
    ...tenantColumns,
    userId: text('user_id').notNull(),
    payload: jsonb('payload').notNull(),
    bulk: boolean('bulk').notNull(),
    occurredAt: instant('occurred_at').notNull(),
    recordedAt: instant('recorded_at').notNull(),
    causeId: uuid('cause_id'),
    rootId: uuid('root_id').notNull(),
    depth: smallint('depth').notNull(),
    decidedAt: instant('decided_at').notNull().default(sql`app_now()`),
  },
  (table) => [
    primaryKey({ columns: [table.eventId, table.decidedAt] }),
    index('idx_event_archive_user').on(table.lineOaId, table.userId, table.decidedAt.desc().nullsFirst()),
  ],
);

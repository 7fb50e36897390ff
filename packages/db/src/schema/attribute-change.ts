import { index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instant, tenantColumns } from './columns.ts';

/**
 * History of attributes, append-only, monthly partitions. Written by the triggers of line_user.
 * idx_attribute_change_user: the history of one user, newest first.
 */
export const attributeChange = pgTable(
  'attribute_change',
  {
    eventId: uuid('event_id').notNull(),
    ...tenantColumns,
    userId: text('user_id').notNull(),
    changed: jsonb('changed').notNull(),
    occurredAt: instant('occurred_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.eventId, table.occurredAt] }),
    index('idx_attribute_change_user').on(table.lineOaId, table.userId, table.occurredAt.desc().nullsFirst()),
  ],
);

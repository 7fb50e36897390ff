import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * What people did to waiting work, and why; never changed. Written by scheduled-actions.
 * idx_scheduled_action_edit_action: the history of one action, oldest first.
 */
export const scheduledActionEdit = pgTable(
  'scheduled_action_edit',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    scheduledActionId: id('scheduled_action_id').notNull(),
    ...tenantColumns,
    operation: text('operation', {
      enum: ['edit', 'postpone', 'fire_now', 'cancel', 'uncancel', 'revive', 'dismiss'],
    }).notNull(),
    before: jsonb('before').notNull(),
    after: jsonb('after').notNull(),
    editedBy: text('edited_by').notNull(),
    reason: text('reason'),
    createdAt: instant('created_at').notNull().default(sql`app_now()`),
  },
  (table) => [index('idx_scheduled_action_edit_action').on(table.scheduledActionId, table.id)],
);

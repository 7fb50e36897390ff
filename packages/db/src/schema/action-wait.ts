import { index, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { id, tenantColumns } from './columns.ts';

/**
 * What may end a wait early: any one of these facts about the person, and the branch that it leads to. Written by scheduled-actions.
 * idx_action_wait_user: a fact looks for who waits for it.
 */
export const actionWait = pgTable(
  'action_wait',
  {
    scheduledActionId: id('scheduled_action_id').notNull(),
    n: smallint('n').notNull(),
    ...tenantColumns,
    userId: text('user_id').notNull(),
    source: text('source', { enum: ['link', 'form', 'booking', 'attribute', 'friend', 'message'] }).notNull(),
    refId: text('ref_id'),
    branch: text('branch').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.scheduledActionId, table.n] }),
    index('idx_action_wait_user').on(table.lineOaId, table.userId, table.source, table.refId),
  ],
);

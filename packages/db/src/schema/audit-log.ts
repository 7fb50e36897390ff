import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { id, instant } from './columns.ts';

/**
 * Who did what, and why; never changed. Without an account: the whole organization. Written by accounts.
 * idx_audit_log_account: what people did to one thing of an account.
 */
export const auditLog = pgTable(
  'audit_log',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    organizationId: id('organization_id').notNull(),
    lineOaId: id('line_oa_id'),
    operation: text('operation').notNull(),
    before: jsonb('before'),
    after: jsonb('after'),
    doneBy: text('done_by').notNull(),
    reason: text('reason'),
    createdAt: instant('created_at').notNull().default(sql`app_now()`),
  },
  (table) => [index('idx_audit_log_account').on(table.lineOaId, table.id)],
);

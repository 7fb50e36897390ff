import { sql } from 'drizzle-orm';
import { jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { id, instant } from './columns.ts';

/** Who stopped and resumed what, and why; never changed. Without an account: the whole organization. Written by accounts. */
export const auditLog = pgTable('audit_log', {
  id: id('id').primaryKey().generatedAlwaysAsIdentity(),
  organizationId: id('organization_id').notNull(),
  lineOaId: id('line_oa_id'),
  operation: text('operation').notNull(),
  before: jsonb('before'),
  after: jsonb('after'),
  doneBy: text('done_by').notNull(),
  reason: text('reason'),
  createdAt: instant('created_at').notNull().default(sql`app_now()`),
});

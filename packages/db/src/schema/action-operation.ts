import { sql } from 'drizzle-orm';
import { jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * A change of many waiting actions that a person was shown and has to confirm by its token. Written by scheduled-actions.
 * action_operation_token_key: the confirmation finds what was shown.
 */
export const actionOperation = pgTable(
  'action_operation',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    tokenSha256: text('token_sha256').notNull(),
    operation: jsonb('operation').notNull(),
    previewedBy: text('previewed_by').notNull(),
    reason: text('reason'),
    createdAt: instant('created_at').notNull().default(sql`app_now()`),
    expiresAt: instant('expires_at').notNull(),
    confirmedBy: text('confirmed_by'),
    confirmedAt: instant('confirmed_at'),
  },
  (table) => [
    unique('action_operation_token_key').on(table.tokenSha256),
    unique('action_operation_tenant_key').on(table.organizationId, table.lineOaId, table.id),
  ],
);

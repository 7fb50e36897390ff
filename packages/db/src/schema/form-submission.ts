import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * A person submitted a form; append-only, written by any service in plain SQL.
 * idx_form_submission_user: the last look of a wait; scheduled-actions reads it.
 */
export const formSubmission = pgTable(
  'form_submission',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    formId: id('form_id').notNull(),
    userId: text('user_id').notNull(),
    answers: jsonb('answers').notNull().default({}),
    idempotencyKey: text('idempotency_key').notNull(),
    occurredAt: instant('occurred_at').notNull().default(sql`app_now()`),
    recordedAt: instant('recorded_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    unique('form_submission_idempotency_key').on(table.lineOaId, table.idempotencyKey),
    index('idx_form_submission_user').on(table.lineOaId, table.userId, table.formId, table.occurredAt),
  ],
);

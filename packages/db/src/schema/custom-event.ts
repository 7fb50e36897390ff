import { sql } from 'drizzle-orm';
import { jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/** Another service told of something that a person did; append-only, written by any service in plain SQL. */
export const customEvent = pgTable(
  'custom_event',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    userId: text('user_id').notNull(),
    name: text('name').notNull(),
    payload: jsonb('payload').notNull().default({}),
    idempotencyKey: text('idempotency_key').notNull(),
    occurredAt: instant('occurred_at').notNull().default(sql`app_now()`),
    recordedAt: instant('recorded_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [unique('custom_event_idempotency_key').on(table.lineOaId, table.idempotencyKey)],
);

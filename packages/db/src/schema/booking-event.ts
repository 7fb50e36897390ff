import { BOOKING_EVENT_TYPES } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { index, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * What became of an appointment; append-only, written by any service in plain SQL.
 * idx_booking_event_user: the last look of a wait; scheduled-actions reads it.
 */
export const bookingEvent = pgTable(
  'booking_event',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    bookingId: id('booking_id').notNull(),
    userId: text('user_id').notNull(),
    type: text('type', { enum: BOOKING_EVENT_TYPES }).notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    occurredAt: instant('occurred_at').notNull().default(sql`app_now()`),
    recordedAt: instant('recorded_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    unique('booking_event_idempotency_key').on(table.lineOaId, table.idempotencyKey),
    index('idx_booking_event_user').on(table.lineOaId, table.userId, table.bookingId, table.occurredAt),
  ],
);

import { FRIEND_EVENT_TYPES } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * A person followed an account or left it; append-only, written by any service in plain SQL.
 * idx_friend_track_event_user: the last look of a wait; scheduled-actions reads it.
 */
export const friendTrackEvent = pgTable(
  'friend_track_event',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    userId: text('user_id').notNull(),
    type: text('type', { enum: FRIEND_EVENT_TYPES }).notNull(),
    isUnblocked: boolean('is_unblocked').notNull().default(false),
    webhookEventId: text('webhook_event_id').notNull(),
    occurredAt: instant('occurred_at').notNull().default(sql`app_now()`),
    recordedAt: instant('recorded_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    unique('friend_track_event_webhook_event_id').on(table.lineOaId, table.webhookEventId),
    index('idx_friend_track_event_user').on(table.lineOaId, table.userId, table.occurredAt),
  ],
);

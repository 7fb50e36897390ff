import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * A person clicked a link; append-only, written by any service in plain SQL. Robots are kept, and are no reason to do anything.
 * idx_link_click_user: the last look of a wait; scheduled-actions reads it.
 */
export const linkClick = pgTable(
  'link_click',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    trackedLinkId: id('tracked_link_id').notNull(),
    linkIssueId: id('link_issue_id'),
    userId: text('user_id').notNull(),
    isRobot: boolean('is_robot').notNull().default(false),
    userAgent: text('user_agent'),
    idempotencyKey: text('idempotency_key').notNull(),
    occurredAt: instant('occurred_at').notNull().default(sql`app_now()`),
    recordedAt: instant('recorded_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    unique('link_click_idempotency_key').on(table.lineOaId, table.idempotencyKey),
    index('idx_link_click_user').on(table.lineOaId, table.userId, table.trackedLinkId, table.occurredAt),
  ],
);

import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * A person clicked a link; append-only, written by any service in plain SQL. Robots are kept, and are no reason to do anything; so are
 * clicks of nobody known (user_id null), on a link that is the same for everybody.
 * idx_link_click_user: the last look of a wait; scheduled-actions reads it. idx_link_click_issue: the clicks of a campaign.
 */
export const linkClick = pgTable(
  'link_click',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    trackedLinkId: id('tracked_link_id').notNull(),
    linkIssueId: id('link_issue_id'),
    userId: text('user_id'),
    isRobot: boolean('is_robot').notNull().default(false),
    userAgent: text('user_agent'),
    idempotencyKey: text('idempotency_key').notNull(),
    occurredAt: instant('occurred_at').notNull().default(sql`app_now()`),
    recordedAt: instant('recorded_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    unique('link_click_idempotency_key').on(table.lineOaId, table.idempotencyKey),
    index('idx_link_click_user').on(table.lineOaId, table.userId, table.trackedLinkId, table.occurredAt),
    index('idx_link_click_issue')
      .on(table.linkIssueId, table.userId)
      .where(sql`link_issue_id is not null and not is_robot`),
  ],
);

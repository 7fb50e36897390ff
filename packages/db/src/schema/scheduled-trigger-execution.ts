import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, smallint, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * One row per cycle of a time-based rule; uq_scheduled_trigger_execution makes a cycle run once. Written by scheduled-cycles.
 * idx_scheduled_trigger_execution_open: announcing and counting. idx_scheduled_trigger_execution_unswept: the sweep of cancelled ones.
 */
export const scheduledTriggerExecution = pgTable(
  'scheduled_trigger_execution',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    triggerRuleId: id('trigger_rule_id').notNull(),
    scheduledAt: instant('scheduled_at').notNull(),
    startedAt: instant('started_at').notNull().default(sql`app_now()`),
    completedAt: instant('completed_at'),
    status: text('status', { enum: ['processing', 'completed', 'failed', 'cancelled', 'skipped'] })
      .notNull()
      .default('processing'),
    reasonCode: text('reason_code'),
    origin: text('origin', { enum: ['cron', 'manual'] })
      .notNull()
      .default('cron'),
    ruleVersion: integer('rule_version').notNull().default(1),
    waitsItsTurn: boolean('waits_its_turn').notNull().default(false),
    cursorUserId: text('cursor_user_id').notNull().default(''),
    highUserId: text('high_user_id'),
    readAll: boolean('read_all').notNull().default(false),
    totalUsers: id('total_users').notNull().default(sql`0`),
    enqueuedUsers: id('enqueued_users').notNull().default(sql`0`),
    suppressedUsers: id('suppressed_users').notNull().default(sql`0`),
    processedUsers: id('processed_users').notNull().default(sql`0`),
    failedUsers: id('failed_users').notNull().default(sql`0`),
    countedAt: instant('counted_at'),
    errorMessage: text('error_message'),
    pausedAt: instant('paused_at'),
    fence: id('fence').notNull().default(sql`0`),
    claimedBy: text('claimed_by'),
    leaseUntil: instant('lease_until'),
    publishedAt: instant('published_at'),
    swept: boolean('swept').notNull().default(false),
    pageFailures: smallint('page_failures').notNull().default(0),
  },
  (table) => [
    unique('uq_scheduled_trigger_execution').on(table.triggerRuleId, table.scheduledAt),
    index('idx_scheduled_trigger_execution_open')
      .on(table.triggerRuleId, table.scheduledAt)
      .where(sql`status = 'processing'`),
    index('idx_scheduled_trigger_execution_unswept').on(table.id).where(sql`status = 'cancelled' and not swept`),
  ],
);

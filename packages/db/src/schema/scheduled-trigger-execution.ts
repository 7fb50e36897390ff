import { sql } from 'drizzle-orm';
import { pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * One row per cycle of a time-based rule; uq_scheduled_trigger_execution makes a cycle run once. Nobody writes it yet.
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
    totalUsers: id('total_users').notNull().default(sql`0`),
    processedUsers: id('processed_users').notNull().default(sql`0`),
    failedUsers: id('failed_users').notNull().default(sql`0`),
    errorMessage: text('error_message'),
    fence: id('fence').notNull().default(sql`0`),
    claimedBy: text('claimed_by'),
    leaseUntil: instant('lease_until'),
  },
  (table) => [unique('uq_scheduled_trigger_execution').on(table.triggerRuleId, table.scheduledAt)],
);

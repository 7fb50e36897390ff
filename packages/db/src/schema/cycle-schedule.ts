import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, text } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * When the next cycle of a time-based rule is due. Kept by the database from trigger_rule; moved by scheduled-cycles.
 * idx_cycle_schedule_next_run_at: the opening and the look ahead. idx_cycle_schedule_unplanned: the planning.
 */
export const cycleSchedule = pgTable(
  'cycle_schedule',
  {
    triggerRuleId: id('trigger_rule_id').primaryKey(),
    ...tenantColumns,
    isLive: boolean('is_live').notNull(),
    nextRunAt: instant('next_run_at'),
    plannedAt: instant('planned_at'),
    planFrom: instant('plan_from'),
    problem: text('problem'),
    fence: id('fence').notNull().default(sql`0`),
    updatedDate: instant('updated_date').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    index('idx_cycle_schedule_next_run_at').on(table.nextRunAt).where(sql`next_run_at is not null`),
    index('idx_cycle_schedule_unplanned').on(table.triggerRuleId).where(sql`is_live and planned_at is null`),
  ],
);

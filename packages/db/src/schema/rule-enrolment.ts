import { sql } from 'drizzle-orm';
import { index, integer, pgTable, smallint, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * People who match a rule already enter it, page by page. Written by trigger-rules; moves are guarded.
 * rule_enrolment_open_key: one at a time for a rule. idx_rule_enrolment_due: the look for a page that is due.
 */
export const ruleEnrolment = pgTable(
  'rule_enrolment',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    triggerRuleId: id('trigger_rule_id').notNull(),
    ruleVersion: integer('rule_version').notNull(),
    status: text('status', { enum: ['counting', 'counted', 'entering', 'done', 'cancelled', 'failed'] })
      .notNull()
      .default('counting'),
    fence: id('fence').notNull().default(sql`0`),
    leaseUntil: instant('lease_until'),
    attempts: smallint('attempts').notNull().default(0),
    perMinute: integer('per_minute').notNull(),
    afterUserId: text('after_user_id').notNull().default(''),
    examined: integer('examined').notNull().default(0),
    matched: integer('matched').notNull().default(0),
    entered: integer('entered').notNull().default(0),
    nextAt: instant('next_at').notNull().default(sql`app_now()`),
    reasonCode: text('reason_code'),
    startedBy: text('started_by').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    endedDate: instant('ended_date'),
  },
  (table) => [
    uniqueIndex('rule_enrolment_open_key')
      .on(table.triggerRuleId)
      .where(sql`status in ('counting', 'counted', 'entering')`),
    index('idx_rule_enrolment_due').on(table.nextAt).where(sql`status in ('counting', 'entering')`),
  ],
);

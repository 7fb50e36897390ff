import { integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * Calendars that were changed before anybody had planned by them, until what they had due is listed as left out. Written by the database beside
 * cycle_schedule; taken away by scheduled-cycles.
 */
export const supersededCalendar = pgTable('superseded_calendar', {
  id: id('id').primaryKey().generatedAlwaysAsIdentity(),
  ...tenantColumns,
  triggerRuleId: id('trigger_rule_id').notNull(),
  sourceConfig: jsonb('source_config').notNull(),
  timezone: text('timezone').notNull(),
  ruleVersion: integer('rule_version').notNull(),
  reasonCode: text('reason_code').notNull(),
  planFrom: instant('plan_from').notNull(),
  supersededAt: instant('superseded_at').notNull(),
});

import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * Every evaluation and what came of it, append-only, monthly partitions. Written by trigger-rules. A row without a person counts evaluations
 * of a flood that its rule did not match.
 * idx_trigger_log_rule: the history of a rule. idx_trigger_log_user: the timeline of a person.
 */
export const triggerLog = pgTable(
  'trigger_log',
  {
    id: id('id').generatedAlwaysAsIdentity(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    ...tenantColumns,
    triggerRuleId: id('trigger_rule_id'),
    ruleVersion: integer('rule_version'),
    audienceId: id('audience_id'),
    userId: text('user_id'),
    triggerOn: text('trigger_on').notNull(),
    actionType: text('action_type'),
    actionConfig: jsonb('action_config'),
    status: text('status', { enum: ['success', 'skipped', 'cancelled', 'failed'] })
      .notNull()
      .default('success'),
    errorMessage: text('error_message'),
    decision: text('decision').notNull(),
    reasonCode: text('reason_code').notNull(),
    detail: jsonb('detail'),
    eventId: uuid('event_id'),
    causeId: uuid('cause_id'),
    rootId: uuid('root_id'),
    scheduledActionId: id('scheduled_action_id'),
    deliveryId: id('delivery_id'),
    evaluations: integer('evaluations').notNull().default(1),
  },
  (table) => [
    primaryKey({ columns: [table.id, table.createdDate] }),
    index('idx_trigger_log_rule').on(table.triggerRuleId, table.createdDate.desc().nullsFirst()),
    index('idx_trigger_log_user').on(table.lineOaId, table.userId, table.createdDate.desc().nullsFirst()),
  ],
);

import { SOURCE_TYPES } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, primaryKey, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * When X happens, do Y. Written by trigger-rules; soft-deleted, read through its `liveRules`.
 * idx_trigger_rule_line_oa: the rules of an account. idx_trigger_rule_source: those that an event may set off. idx_trigger_rule_deleted_date: the purge.
 */
export const triggerRule = pgTable(
  'trigger_rule',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    name: text('name').notNull(),
    version: integer('version').notNull().default(1),
    sourceType: text('source_type', { enum: SOURCE_TYPES }).notNull(),
    sourceConfig: jsonb('source_config').notNull(),
    sourceKey: text('source_key').generatedAlwaysAs(
      sql`left(case source_type when 'attribute_changed' then source_config ->> 'attribute' when 'form_submitted' then source_config ->> 'formId'
        when 'campaign_click' then source_config ->> 'trackedLinkId' when 'custom_event' then source_config ->> 'name' end, 128)`,
    ),
    actionType: text('action_type', {
      enum: [
        'send_message',
        'switch_rich_menu',
        'unlink_rich_menu',
        'add_to_audience',
        'remove_from_audience',
        'set_attribute',
        'call_webhook',
      ],
    }).notNull(),
    actionConfig: jsonb('action_config').notNull(),
    enabled: boolean('enabled').notNull().default(true),
    mode: text('mode', { enum: ['draft', 'observe', 'live'] })
      .notNull()
      .default('live'),
    frequency: text('frequency', { enum: ['every_time', 'once', 'once_per_hour', 'once_per_day', 'once_per_week'] })
      .notNull()
      .default('once_per_hour'),
    cooldownSeconds: integer('cooldown_seconds').notNull().default(0),
    reentry: text('reentry', { enum: ['always', 'not_while_open', 'never'] })
      .notNull()
      .default('always'),
    exemptFromCaps: boolean('exempt_from_caps').notNull().default(false),
    fullHistory: boolean('full_history').notNull().default(false),
    whenDisabled: text('when_disabled', { enum: ['cancel', 'hold'] })
      .notNull()
      .default('cancel'),
    workflowId: id('workflow_id'),
    workflowNodePath: text('workflow_node_path'),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    updatedDate: instant('updated_date').notNull().default(sql`app_now()`),
    deletedDate: instant('deleted_date'),
  },
  (table) => [
    unique('trigger_rule_tenant_key').on(table.organizationId, table.lineOaId, table.id),
    index('idx_trigger_rule_line_oa').on(table.lineOaId, table.organizationId),
    index('idx_trigger_rule_source')
      .on(table.lineOaId, table.sourceType, table.sourceKey)
      .where(sql`enabled and deleted_date is null`),
    index('idx_trigger_rule_deleted_date').on(table.deletedDate),
  ],
);

/** What a rule said at each of its versions. Written by the triggers of trigger_rule, never changed (guarded). */
export const triggerRuleVersion = pgTable(
  'trigger_rule_version',
  {
    triggerRuleId: id('trigger_rule_id').notNull(),
    version: integer('version').notNull(),
    ...tenantColumns,
    snapshot: jsonb('snapshot').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
  },
  (table) => [primaryKey({ columns: [table.triggerRuleId, table.version] })],
);

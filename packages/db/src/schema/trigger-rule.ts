import { SOURCE_TYPES } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core';
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
      ],
    }).notNull(),
    actionConfig: jsonb('action_config').notNull(),
    enabled: boolean('enabled').notNull().default(true),
    frequency: text('frequency', { enum: ['every_time', 'once', 'once_per_hour', 'once_per_day', 'once_per_week'] })
      .notNull()
      .default('once_per_hour'),
    cooldownSeconds: integer('cooldown_seconds').notNull().default(0),
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

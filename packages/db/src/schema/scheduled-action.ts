import { sql } from 'drizzle-orm';
import {
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  smallint,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * Work that waits for its time. Written by scheduled-actions; moves are guarded.
 * idx_scheduled_action_pending: the claim. idx_scheduled_action_due: the look-ahead. idx_scheduled_action_processing:
 * recoverStaleProcessing. idx_scheduled_action_user: open work of a person and rule. idx_scheduled_action_anchor: what hangs on a
 * date that moved. idx_scheduled_action_waiting: facts older than their wait. idx_scheduled_action_rule: what a deleted rule left.
 * scheduled_action_open_key: at most one open row of a key.
 */
export const scheduledAction = pgTable(
  'scheduled_action',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    triggerRuleId: id('trigger_rule_id'),
    ruleVersion: integer('rule_version'),
    eventId: uuid('event_id'),
    rootId: uuid('root_id'),
    userId: text('user_id').notNull(),
    actionType: text('action_type').notNull(),
    actionConfig: jsonb('action_config').notNull(),
    sourceConfig: jsonb('source_config'),
    executeAt: instant('execute_at').notNull(),
    dueAt: instant('due_at').notNull(),
    expiresAt: instant('expires_at'),
    lane: smallint('lane').notNull().default(1),
    delaySpec: jsonb('delay_spec'),
    anchorRef: text('anchor_ref'),
    anchorAt: instant('anchor_at'),
    branch: text('branch'),
    maxLatenessSeconds: integer('max_lateness_seconds'),
    openKey: text('open_key'),
    alone: boolean('alone').notNull().default(false),
    executedAt: instant('executed_at'),
    status: text('status', { enum: ['pending', 'processing', 'done', 'failed', 'cancelled'] })
      .notNull()
      .default('pending'),
    retryCount: smallint('retry_count').notNull().default(0),
    rescueCount: smallint('rescue_count').notNull().default(0),
    attempt: smallint('attempt').notNull().default(0),
    fence: id('fence').notNull().default(sql`0`),
    gen: integer('gen').notNull().default(0),
    claimedBy: text('claimed_by'),
    claimedVia: text('claimed_via', { enum: ['inline', 'queue'] }),
    leaseUntil: instant('lease_until'),
    cancelReason: text('cancel_reason'),
    lastError: text('last_error'),
    dedupKey: text('dedup_key').notNull(),
    workflowId: id('workflow_id'),
    workflowNodePath: text('workflow_node_path'),
    traceparent: text('traceparent'),
    createdAt: instant('created_at').notNull().default(sql`app_now()`),
    updatedAt: instant('updated_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    unique('scheduled_action_dedup_key').on(table.lineOaId, table.dedupKey),
    uniqueIndex('scheduled_action_open_key')
      .on(table.lineOaId, table.openKey)
      .where(sql`status in ('pending', 'processing') and open_key is not null`),
    index('idx_scheduled_action_pending')
      .on(table.lane, table.lineOaId, table.executeAt, table.id)
      .where(sql`status = 'pending'`),
    index('idx_scheduled_action_due').on(table.executeAt).where(sql`status = 'pending' and gen >= 0`),
    index('idx_scheduled_action_anchor')
      .on(table.lineOaId, table.userId, table.anchorRef)
      .where(sql`status in ('pending', 'processing') and anchor_ref is not null`),
    index('idx_scheduled_action_waiting')
      .on(table.anchorAt)
      .where(sql`status = 'pending' and anchor_at is not null and branch is null`),
    index('idx_scheduled_action_rule')
      .on(table.triggerRuleId, table.id)
      .where(sql`status = 'pending' and trigger_rule_id is not null`),
    index('idx_scheduled_action_processing').on(table.id).where(sql`status = 'processing'`),
    index('idx_scheduled_action_user')
      .on(table.userId, table.triggerRuleId)
      .where(sql`status in ('pending', 'processing')`),
  ],
);

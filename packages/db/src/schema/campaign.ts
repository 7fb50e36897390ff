import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * One content to many people at one time. Written by campaigns; moves are guarded, what was frozen is immutable.
 * idx_campaign_scheduled: the claim of campaigns whose minute has come. idx_campaign_sending: the close sweep and the reaper.
 * idx_campaign_frozen: those that count for the caps of the account.
 * idx_campaign_stopping: the close sweep.
 */
export const campaign = pgTable(
  'campaign',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    name: text('name').notNull(),
    status: text('status', {
      enum: ['draft', 'scheduled', 'sending', 'paused', 'sent', 'failed', 'cancel', 'needs_attention'],
    })
      .notNull()
      .default('draft'),
    castType: text('cast_type', { enum: ['broadcast', 'multicast'] }).notNull(),
    audienceId: id('audience_id'),
    messages: jsonb('messages').notNull().default([]),
    startDate: instant('start_date'),
    notAfter: instant('not_after'),
    claimedAt: instant('claimed_at'),
    claimedBy: text('claimed_by'),
    excludedAudienceIds: id('excluded_audience_ids').array().notNull().default([]),
    excludedUserIds: text('excluded_user_ids').array().notNull().default([]),
    confirmedCount: integer('confirmed_count'),
    plannedCount: integer('planned_count'),
    frozenAt: instant('frozen_at'),
    sentAt: instant('sent_at'),
    reasonCode: text('reason_code'),
    startCheck: jsonb('start_check'),
    ignoresQuota: boolean('ignores_quota').notNull().default(false),
    startLocal: text('start_local'),
    startZone: text('start_zone'),
    maxPerMinute: integer('max_per_minute'),
    judgedFrom: instant('judged_from'),
    cancelRequestedAt: instant('cancel_requested_at'),
    fence: id('fence').notNull().default(sql`0`),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    updatedDate: instant('updated_date').notNull().default(sql`clock_timestamp()`),
    deletedDate: instant('deleted_date'),
  },
  (table) => [
    unique('campaign_tenant_key').on(table.organizationId, table.lineOaId, table.id),
    index('idx_campaign_sending').on(table.id).where(sql`status = 'sending'`),
    index('idx_campaign_frozen').on(table.lineOaId, table.frozenAt).where(sql`frozen_at is not null`),
    index('idx_campaign_stopping').on(table.id).where(sql`cancel_requested_at is not null and status <> 'cancel'`),
    index('idx_campaign_scheduled')
      .on(table.startDate, table.id)
      .where(sql`status = 'scheduled' and deleted_date is null`),
  ],
);

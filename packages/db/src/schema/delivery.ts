import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, smallint, text, unique, uuid } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * The ledger of what LINE, or a receiver of webhooks, is asked to do: one row per request and retry key. Written by deliveries; moves are guarded, content
 * is immutable.
 * idx_delivery_unannounced, idx_delivery_announced: the announcing sweep. idx_delivery_planned, idx_delivery_attempted: the sweep of
 * what is too late. idx_delivery_sending: the reaper. idx_delivery_campaign: the close of a campaign, its reaper, and the
 * announcement of what is left of it.
 */
export const delivery = pgTable(
  'delivery',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    kind: text('kind', { enum: ['campaign', 'action', 'event', 'test'] }).notNull(),
    logicalId: text('logical_id').notNull(),
    epoch: integer('epoch').notNull().default(1),
    endpoint: text('endpoint', {
      enum: ['push', 'multicast', 'broadcast', 'richmenu_link', 'richmenu_unlink', 'webhook'],
    }).notNull(),
    ordinal: integer('ordinal').notNull().default(0),
    groupSize: smallint('group_size').notNull().default(1),
    splitPath: text('split_path').notNull().default(''),
    userId: text('user_id'),
    triggerRuleId: id('trigger_rule_id'),
    scheduledActionId: id('scheduled_action_id'),
    campaignId: id('campaign_id'),
    chunkNo: integer('chunk_no'),
    eventId: uuid('event_id'),
    rootId: uuid('root_id'),
    retryKey: uuid('retry_key').notNull(),
    body: text('body').notNull(),
    bodySha256: text('body_sha256').notNull(),
    status: text('status', {
      enum: ['planned', 'sending', 'accepted', 'refused', 'split', 'unknown', 'expired', 'cancelled'],
    })
      .notNull()
      .default('planned'),
    fence: id('fence').notNull().default(sql`0`),
    claimedBy: text('claimed_by'),
    leaseUntil: instant('lease_until'),
    publishedAt: instant('published_at'),
    announceCount: smallint('announce_count').notNull().default(0),
    nextAttemptAt: instant('next_attempt_at').notNull().default(sql`app_now()`),
    firstAttemptAt: instant('first_attempt_at'),
    deliverUntil: instant('deliver_until').notNull(),
    acceptedAt: instant('accepted_at'),
    lineRequestId: text('line_request_id'),
    lineAcceptedRequestId: text('line_accepted_request_id'),
    reasonCode: text('reason_code'),
    announceEnd: boolean('announce_end').notNull().default(false),
    traceparent: text('traceparent'),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    updatedDate: instant('updated_date').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    unique('delivery_logical_key').on(
      table.logicalId,
      table.kind,
      table.epoch,
      table.ordinal,
      table.endpoint,
      table.splitPath,
    ),
    index('idx_delivery_unannounced')
      .on(table.nextAttemptAt, table.id)
      .where(sql`status = 'planned' and published_at is null`),
    index('idx_delivery_announced')
      .on(table.announceCount, table.publishedAt)
      .where(sql`status = 'planned' and published_at is not null`),
    index('idx_delivery_planned').on(table.deliverUntil).where(sql`status = 'planned'`),
    index('idx_delivery_attempted')
      .on(table.firstAttemptAt)
      .where(sql`status = 'planned' and first_attempt_at is not null`),
    index('idx_delivery_sending').on(table.id).where(sql`status = 'sending'`),
    index('idx_delivery_campaign').on(table.campaignId, table.status).where(sql`campaign_id is not null`),
  ],
);

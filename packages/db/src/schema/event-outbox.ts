import { EVENT_TOPICS } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { boolean, index, jsonb, pgTable, smallint, text, unique, uuid } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * What happened and is not decided yet. Inserted by triggers, deleted into event_archive by the transaction of trigger-worker that decides it:
 * straight away, or once pg-listener has published it.
 * idx_event_outbox_pending: the claim of pg-listener. idx_event_outbox_published: re-announcement and cap.
 * idx_event_outbox_fresh: the claim of trigger-worker. idx_event_outbox_person: what goes before it.
 */
export const eventOutbox = pgTable(
  'event_outbox',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    eventId: uuid('event_id').notNull().defaultRandom(),
    topic: text('topic', { enum: EVENT_TOPICS }).notNull(),
    ...tenantColumns,
    userId: text('user_id').notNull(),
    payload: jsonb('payload').notNull(),
    bulk: boolean('bulk').notNull().default(false),
    occurredAt: instant('occurred_at').notNull().default(sql`app_now()`),
    recordedAt: instant('recorded_at').notNull().default(sql`clock_timestamp()`),
    causeId: uuid('cause_id'),
    rootId: uuid('root_id').notNull(),
    depth: smallint('depth').notNull().default(0),
    traceparent: text('traceparent'),
    replayed: boolean('replayed').notNull().default(false),
    status: text('status', { enum: ['pending', 'published', 'dead'] })
      .notNull()
      .default('pending'),
    attempts: smallint('attempts').notNull().default(0),
    alone: boolean('alone').notNull().default(false),
    rescueCount: smallint('rescue_count').notNull().default(0),
    fence: id('fence').notNull().default(sql`0`),
    leaseUntil: instant('lease_until'),
  },
  (table) => [
    unique('event_outbox_event_id_key').on(table.eventId),
    index('idx_event_outbox_pending').on(table.id).where(sql`status = 'pending'`),
    index('idx_event_outbox_fresh').on(table.id).where(sql`status = 'pending' and not bulk and not alone`),
    index('idx_event_outbox_person').on(table.lineOaId, table.userId, table.id).where(sql`status <> 'dead'`),
    index('idx_event_outbox_published').on(table.leaseUntil).where(sql`status = 'published'`),
  ],
);

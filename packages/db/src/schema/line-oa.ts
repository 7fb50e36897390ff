import { sql } from 'drizzle-orm';
import { pgTable, smallint, text, unique } from 'drizzle-orm/pg-core';
import { id, instant } from './columns.ts';

/**
 * A LINE Official Account. Written by accounts; its token and secret are sealed, and opened in line-delivery only.
 * stopped_at: the emergency stop. quiet_from and quiet_to: local times HH:MM of its zone (or, by quiet_zone, of the
 * person's), during which nothing is sent.
 * line_oa_tenant_key exists so that tenant rows refer to organization and account together.
 */
export const lineOa = pgTable(
  'line_oa',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    organizationId: id('organization_id').notNull(),
    channelId: text('channel_id').notNull(),
    name: text('name').notNull(),
    timezone: text('timezone').notNull().default('Asia/Tokyo'),
    channelAccessTokenSealed: text('channel_access_token_sealed'),
    channelSecretSealed: text('channel_secret_sealed'),
    webhookSecretSealed: text('webhook_secret_sealed'),
    tokenKind: text('token_kind', { enum: ['stored', 'stateless', 'short_lived'] })
      .notNull()
      .default('stored'),
    status: text('status', { enum: ['active', 'paused_auth', 'paused_quota', 'paused_by_person'] })
      .notNull()
      .default('active'),
    stoppedAt: instant('stopped_at'),
    quietFrom: text('quiet_from'),
    quietTo: text('quiet_to'),
    quietPolicy: text('quiet_policy', { enum: ['shift', 'drop', 'ignore'] })
      .notNull()
      .default('shift'),
    quietZone: text('quiet_zone', { enum: ['account', 'person'] })
      .notNull()
      .default('account'),
    spreadMinutes: smallint('spread_minutes').notNull().default(10),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    deletedDate: instant('deleted_date'),
  },
  (table) => [
    unique('line_oa_channel_id_key').on(table.channelId),
    unique('line_oa_tenant_key').on(table.organizationId, table.id),
  ],
);

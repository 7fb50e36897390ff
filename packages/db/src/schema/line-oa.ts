import { sql } from 'drizzle-orm';
import { pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant } from './columns.ts';

/**
 * A LINE Official Account. Written by accounts; its token is sealed, and opened in line-delivery only.
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
    status: text('status', { enum: ['active', 'paused_auth', 'paused_quota'] })
      .notNull()
      .default('active'),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    deletedDate: instant('deleted_date'),
  },
  (table) => [
    unique('line_oa_channel_id_key').on(table.channelId),
    unique('line_oa_tenant_key').on(table.organizationId, table.id),
  ],
);

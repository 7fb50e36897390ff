import { sql } from 'drizzle-orm';
import { pgTable, uuid } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/** Where the pace of a campaign that may reach so many people a minute stands; product time. Written by deliveries. */
export const campaignPace = pgTable('campaign_pace', {
  campaignId: id('campaign_id').primaryKey(),
  ...tenantColumns,
  nextAt: instant('next_at').notNull().default(sql`app_now()`),
  backAt: instant('back_at').notNull().default(sql`app_now()`),
  grantedIds: id('granted_ids').array().notNull().default([]),
  grantedKeys: uuid('granted_keys').array().notNull().default([]),
});

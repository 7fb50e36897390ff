import { sql } from 'drizzle-orm';
import { index, integer, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * Whom and what an author was shown of a campaign, to be confirmed by its token. Written by campaigns.
 * campaign_preview_token_key: the confirmation finds what was shown. idx_campaign_preview_expires: what nobody can confirm any more.
 */
export const campaignPreview = pgTable(
  'campaign_preview',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    campaignId: id('campaign_id').notNull(),
    tokenSha256: text('token_sha256').notNull(),
    fence: id('fence').notNull(),
    definitionSha256: text('definition_sha256').notNull(),
    people: integer('people'),
    previewedBy: text('previewed_by').notNull(),
    createdAt: instant('created_at').notNull().default(sql`app_now()`),
    expiresAt: instant('expires_at').notNull(),
    confirmedBy: text('confirmed_by'),
    confirmedAt: instant('confirmed_at'),
  },
  (table) => [
    unique('campaign_preview_token_key').on(table.tokenSha256),
    index('idx_campaign_preview_expires').on(table.expiresAt),
  ],
);

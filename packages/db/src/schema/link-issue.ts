import { sql } from 'drizzle-orm';
import { pgTable, text, unique, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * A link as it stands in one message to one person, or in a campaign, the same for everybody: its code is what a click comes back with.
 * Written by link-tracking. uq_link_issue_campaign: one code for a link in a campaign; the clicks of a campaign read it.
 */
export const linkIssue = pgTable(
  'link_issue',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    trackedLinkId: id('tracked_link_id').notNull(),
    userId: text('user_id'),
    code: text('code').notNull(),
    scheduledActionId: id('scheduled_action_id'),
    campaignId: id('campaign_id'),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
  },
  (table) => [
    unique('link_issue_code_key').on(table.code),
    unique('link_issue_tenant_key').on(table.organizationId, table.lineOaId, table.id),
    uniqueIndex('uq_link_issue_campaign').on(table.campaignId, table.trackedLinkId).where(sql`campaign_id is not null`),
  ],
);

import { sql } from 'drizzle-orm';
import { index, pgTable, text } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * A campaign and when it starts. Nobody writes it yet.
 * idx_campaign_scheduled: the claim of campaigns whose minute has come.
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
    startDate: instant('start_date'),
    notAfter: instant('not_after'),
    claimedAt: instant('claimed_at'),
    claimedBy: text('claimed_by'),
    fence: id('fence').notNull().default(sql`0`),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    updatedDate: instant('updated_date').notNull().default(sql`clock_timestamp()`),
    deletedDate: instant('deleted_date'),
  },
  (table) => [
    index('idx_campaign_scheduled')
      .on(table.startDate, table.id)
      .where(sql`status = 'scheduled' and deleted_date is null`),
  ],
);

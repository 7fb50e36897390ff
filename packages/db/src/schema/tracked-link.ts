import { sql } from 'drizzle-orm';
import { pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/** A link whose clicks are counted. Written by link-tracking. */
export const trackedLink = pgTable(
  'tracked_link',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    name: text('name').notNull(),
    url: text('url').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    deletedDate: instant('deleted_date'),
  },
  (table) => [unique('tracked_link_tenant_key').on(table.organizationId, table.lineOaId, table.id)],
);

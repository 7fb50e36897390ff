import { sql } from 'drizzle-orm';
import { pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/** A named set of an account's people. Written by recipients. */
export const audience = pgTable(
  'audience',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    name: text('name').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    updatedDate: instant('updated_date').notNull().default(sql`app_now()`),
    deletedDate: instant('deleted_date'),
  },
  (table) => [unique('audience_tenant_key').on(table.organizationId, table.lineOaId, table.id)],
);

import { sql } from 'drizzle-orm';
import { pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/** A form that people fill in. Written by recipients. */
export const form = pgTable(
  'form',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    name: text('name').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    deletedDate: instant('deleted_date'),
  },
  (table) => [unique('form_tenant_key').on(table.organizationId, table.lineOaId, table.id)],
);

import { sql } from 'drizzle-orm';
import { pgTable, text, unique, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/** A rich menu that an account has at LINE. Written by rich-menus. rich_menu_line_key: one row for a menu at LINE. */
export const richMenu = pgTable(
  'rich_menu',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    name: text('name').notNull(),
    lineRichMenuId: text('line_rich_menu_id').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    updatedDate: instant('updated_date').notNull().default(sql`app_now()`),
    deletedDate: instant('deleted_date'),
  },
  (table) => [
    unique('rich_menu_tenant_key').on(table.organizationId, table.lineOaId, table.id),
    uniqueIndex('rich_menu_line_key').on(table.lineOaId, table.lineRichMenuId).where(sql`deleted_date is null`),
  ],
);

import { sql } from 'drizzle-orm';
import { pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * Which menu a person shall see: the last wish, by its number; null is none of their own. Written by rich-menus; held by deliveries
 * while it starts a request about this person.
 */
export const userRichMenu = pgTable(
  'user_rich_menu',
  {
    ...tenantColumns,
    userId: text('user_id').notNull(),
    richMenuId: id('rich_menu_id'),
    actionSeq: id('action_seq').notNull(),
    updatedDate: instant('updated_date').notNull().default(sql`app_now()`),
  },
  (table) => [primaryKey({ columns: [table.lineOaId, table.userId] })],
);

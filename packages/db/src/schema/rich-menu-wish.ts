import { sql } from 'drizzle-orm';
import { pgTable, primaryKey, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/** Every wish for a menu, numbered per person, and the delivery that carries it. Written by rich-menus, never changed (guarded). */
export const richMenuWish = pgTable(
  'rich_menu_wish',
  {
    ...tenantColumns,
    userId: text('user_id').notNull(),
    actionSeq: id('action_seq').notNull(),
    richMenuId: id('rich_menu_id'),
    deliveryId: id('delivery_id').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
  },
  (table) => [
    primaryKey({ columns: [table.lineOaId, table.userId, table.actionSeq] }),
    unique('rich_menu_wish_delivery_key').on(table.deliveryId),
  ],
);

import { sql } from 'drizzle-orm';
import { index, integer, pgTable, uuid } from 'drizzle-orm/pg-core';
import { instant, tenantColumns } from './columns.ts';

/**
 * How many decisions go back to one event, over what actions caused. Written by trigger-rules in the deciding transaction.
 * idx_root_budget_last: whoever writes one takes some of the oldest away.
 */
export const rootBudget = pgTable(
  'root_budget',
  {
    rootId: uuid('root_id').primaryKey(),
    ...tenantColumns,
    decisions: integer('decisions').notNull(),
    lastAt: instant('last_at').notNull().default(sql`app_now()`),
  },
  (table) => [index('idx_root_budget_last').on(table.lastAt)],
);

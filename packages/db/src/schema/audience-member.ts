import { sql } from 'drizzle-orm';
import { pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/** Who is in an audience. Written by recipients; campaigns reads it once, in key order, when it freezes its recipients. */
export const audienceMember = pgTable(
  'audience_member',
  {
    audienceId: id('audience_id').notNull(),
    ...tenantColumns,
    userId: text('user_id').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
  },
  (table) => [primaryKey({ columns: [table.audienceId, table.userId] })],
);

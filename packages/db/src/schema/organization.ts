import { sql } from 'drizzle-orm';
import { pgTable, text } from 'drizzle-orm/pg-core';
import { id, instant } from './columns.ts';

/** A customer of the platform. Written by accounts. stopped_at: the emergency stop of all its accounts. */
export const organization = pgTable('organization', {
  id: id('id').primaryKey().generatedAlwaysAsIdentity(),
  name: text('name').notNull(),
  defaultTimezone: text('default_timezone').notNull().default('Asia/Tokyo'),
  stoppedAt: instant('stopped_at'),
  createdDate: instant('created_date').notNull().default(sql`app_now()`),
  deletedDate: instant('deleted_date'),
});

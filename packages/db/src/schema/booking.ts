import { sql } from 'drizzle-orm';
import { pgTable, text, unique } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/** An appointment of a person; its date may move. Written by any service in plain SQL, which tells of it by booking_event. */
export const booking = pgTable(
  'booking',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    userId: text('user_id').notNull(),
    name: text('name').notNull(),
    startsAt: instant('starts_at').notNull(),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    updatedDate: instant('updated_date').notNull().default(sql`app_now()`),
    cancelledDate: instant('cancelled_date'),
  },
  (table) => [unique('booking_tenant_key').on(table.organizationId, table.lineOaId, table.id)],
);

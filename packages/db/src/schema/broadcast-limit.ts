import { pgTable } from 'drizzle-orm/pg-core';
import { id, instant } from './columns.ts';

/** When broadcasts of an account were begun within the last hour. Written by deliveries alone. */
export const broadcastLimit = pgTable('broadcast_limit', {
  lineOaId: id('line_oa_id').primaryKey(),
  organizationId: id('organization_id').notNull(),
  takenAt: instant('taken_at').array().notNull().default([]),
});

import { sql } from 'drizzle-orm';
import { boolean, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * A person who met an account. Written by any service in plain SQL; statement-level triggers feed event_outbox and
 * attribute_change. Its key never changes (guarded).
 */
export const lineUser = pgTable(
  'line_user',
  {
    ...tenantColumns,
    userId: text('user_id').notNull(),
    displayName: text('display_name'),
    timezone: text('timezone'),
    language: text('language'),
    isFollowing: boolean('is_following').notNull().default(true),
    blockedAt: instant('blocked_at'),
    attributes: jsonb('attributes').$type<Record<string, unknown>>().notNull().default({}),
    attributesVersion: id('attributes_version').notNull().default(sql`1`),
    createdDate: instant('created_date').notNull().default(sql`app_now()`),
    updatedDate: instant('updated_date').notNull().default(sql`app_now()`),
  },
  (table) => [primaryKey({ columns: [table.lineOaId, table.userId] })],
);

import { sql } from 'drizzle-orm';
import { bigint, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { id, instant } from './columns.ts';

/**
 * What stands between an account and LINE: unexplained 429s, refusals of what LINE finds nothing wrong with, the breaker, and the pause.
 * Written by accounts.
 * idx_account_trouble_breaker: whoever sends. idx_account_trouble_paused: the look whether a pause is over.
 */
export const accountTrouble = pgTable(
  'account_trouble',
  {
    lineOaId: id('line_oa_id').primaryKey(),
    organizationId: id('organization_id').notNull(),
    throttledSince: instant('throttled_since'),
    throttledAt: instant('throttled_at'),
    refusals: jsonb('refusals').notNull().default(sql`'{}'`),
    breakerUntil: instant('breaker_until'),
    pausedAt: instant('paused_at'),
    reasonCode: text('reason_code', {
      enum: ['monthly_limit', 'held_back', 'token_refused', 'forbidden', 'by_person'],
    }),
    quota: bigint('quota', { mode: 'number' }),
    used: bigint('used', { mode: 'number' }),
    wanted: integer('wanted'),
    lookedAt: instant('looked_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [
    index('idx_account_trouble_breaker').on(table.lineOaId).where(sql`breaker_until is not null`),
    index('idx_account_trouble_paused').on(table.lookedAt).where(sql`paused_at is not null`),
  ],
);

import { sql } from 'drizzle-orm';
import { bigint, index, pgTable } from 'drizzle-orm/pg-core';
import { id, instant } from './columns.ts';

/** What LINE told last of the messages of an account's month. Written by accounts. idx_month_quota_wanted: whoever asks LINE. */
export const monthQuota = pgTable(
  'month_quota',
  {
    lineOaId: id('line_oa_id').primaryKey(),
    organizationId: id('organization_id').notNull(),
    quota: bigint('quota', { mode: 'number' }),
    used: bigint('used', { mode: 'number' }),
    toldAt: instant('told_at'),
    wantedAt: instant('wanted_at'),
    leaseUntil: instant('lease_until'),
  },
  (table) => [index('idx_month_quota_wanted').on(table.wantedAt).where(sql`wanted_at is not null`)],
);

import { bigint, timestamp } from 'drizzle-orm/pg-core';

/** An instant, read as text with microseconds: a JavaScript Date would cut it to milliseconds. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' });

/** A bigint key. Drizzle gives BigInt; what leaves a package is its decimal text. */
export const id = (name: string) => bigint(name, { mode: 'bigint' });

/** Whose row it is; every tenant table has both, and refers to line_oa by both. */
export const tenantColumns = {
  organizationId: id('organization_id').notNull(),
  lineOaId: id('line_oa_id').notNull(),
};

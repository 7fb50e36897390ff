import { integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * When a rule last fired for a user, and how often, apart for what it only observed. Upserted by trigger-rules in the deciding transaction.
 */
export const ruleGate = pgTable(
  'rule_gate',
  {
    ...tenantColumns,
    triggerRuleId: id('trigger_rule_id').notNull(),
    userId: text('user_id').notNull(),
    mode: text('mode', { enum: ['observe', 'live'] })
      .notNull()
      .default('live'),
    lastFiredAt: instant('last_fired_at').notNull(),
    firedCount: integer('fired_count').notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.triggerRuleId, table.userId, table.mode] })],
);

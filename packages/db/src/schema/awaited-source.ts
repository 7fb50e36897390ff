import { WAIT_SOURCES } from '@dueline/contracts';
import { pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { tenantColumns } from './columns.ts';

/**
 * The kinds of facts that something of an account waits for or hangs on, or ever did: of another kind nobody needs to be told.
 * Written by triggers of trigger_rule, action_wait and scheduled_action.
 */
export const awaitedSource = pgTable(
  'awaited_source',
  {
    ...tenantColumns,
    source: text('source', { enum: WAIT_SOURCES }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.lineOaId, table.source] })],
);

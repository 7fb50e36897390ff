import { bigint, integer, jsonb, pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { id, tenantColumns } from './columns.ts';

/**
 * The rows of a change of many that are changed in one transaction, and under which fence they were shown. Written by
 * scheduled-actions; its outcome is null until that is done.
 */
export const actionOperationStep = pgTable(
  'action_operation_step',
  {
    operationId: id('operation_id').notNull(),
    n: integer('n').notNull(),
    ...tenantColumns,
    actionIds: bigint('action_ids', { mode: 'bigint' }).array().notNull(),
    fences: bigint('fences', { mode: 'bigint' }).array().notNull(),
    outcome: jsonb('outcome'),
  },
  (table) => [primaryKey({ columns: [table.operationId, table.n] })],
);

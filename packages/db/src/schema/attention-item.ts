import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant, tenantColumns } from './columns.ts';

/**
 * What needs a person: work that ended otherwise than it should, and that nothing will repair by itself. Written by attention.
 * attention_item_open_key: one open item per row. idx_attention_item_open: what is open for an account, oldest first.
 */
export const attentionItem = pgTable(
  'attention_item',
  {
    id: id('id').primaryKey().generatedAlwaysAsIdentity(),
    ...tenantColumns,
    kind: text('kind', {
      enum: [
        'action_failed',
        'event_dead',
        'delivery_unknown',
        'delivery_refused',
        'account_paused',
        'rule_failed',
        'rule_loops',
        'possible_platform_loss',
        'campaign_not_sent',
      ],
    }).notNull(),
    refId: text('ref_id').notNull(),
    userId: text('user_id'),
    reasonCode: text('reason_code').notNull(),
    detail: jsonb('detail'),
    status: text('status', { enum: ['open', 'resolved', 'dismissed'] })
      .notNull()
      .default('open'),
    openedAt: instant('opened_at').notNull().default(sql`app_now()`),
    closedAt: instant('closed_at'),
    closedBy: text('closed_by'),
    resolution: text('resolution'),
  },
  (table) => [
    uniqueIndex('attention_item_open_key').on(table.kind, table.refId).where(sql`status = 'open'`),
    index('idx_attention_item_open').on(table.lineOaId, table.id).where(sql`status = 'open'`),
  ],
);

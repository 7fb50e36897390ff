import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';

/** What is otherwise than it should be, by the table that `refId` is a row of: scheduled_action, event_outbox, delivery, line_oa, trigger_rule, sent_count (account:day), campaign. */
export type AttentionKind =
  | 'action_failed'
  | 'event_dead'
  | 'delivery_unknown'
  | 'delivery_refused'
  | 'account_paused'
  | 'rule_failed'
  | 'rule_loops'
  | 'possible_platform_loss'
  | 'campaign_not_sent';

/** Work that needs a person. */
export interface AttentionToOpen extends Tenant {
  readonly kind: AttentionKind;
  readonly refId: string;
  readonly userId: string | null;
  /** Why, from the closed list of whoever opens it. */
  readonly reasonCode: string;
  /** What helps a person to decide; never message content. */
  readonly detail?: Readonly<Record<string, string | number>>;
}

/** Opens items, in the transaction of what ended. A row has at most one open item: while it has one, another changes nothing. */
export async function openAttention(tx: Tx, items: readonly AttentionToOpen[]): Promise<void> {
  if (items.length === 0) return;
  const col = (read: (item: AttentionToOpen) => string | null, type: 'bigint' | 'text' | 'jsonb') =>
    column(items.map(read), type);
  await tx.execute(sql`
    insert into attention_item (organization_id, line_oa_id, kind, ref_id, user_id, reason_code, detail)
    select * from unnest(
      ${col((item) => item.organizationId, 'bigint')}, ${col((item) => item.lineOaId, 'bigint')},
      ${col((item) => item.kind, 'text')}, ${col((item) => item.refId, 'text')}, ${col((item) => item.userId, 'text')},
      ${col((item) => item.reasonCode, 'text')},
      ${col((item) => (item.detail === undefined ? null : JSON.stringify(item.detail)), 'jsonb')})
        on conflict do nothing`);
}

import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import type { AttentionKind } from './open.ts';

/** Which items: by their own ids, or by the rows that they speak of. */
export type AttentionSubject =
  | { readonly ids: readonly string[] }
  | { readonly kind: AttentionKind; readonly refIds: readonly string[] };

export interface ClosedAs {
  /** `resolved`: what was wrong was put right; `dismissed`: it stays as it is. */
  readonly status: 'resolved' | 'dismissed';
  readonly closedBy: string;
  /** Why, in the words of whoever closes it. */
  readonly resolution: string;
}

/**
 * open -> resolved or dismissed, for the tenant's items that are open; others are left out. Returns the ids that it closed, so
 * that of two people at once one closes an item.
 */
export async function closeAttention(
  tx: Tx,
  tenant: Tenant,
  { status, closedBy, resolution, ...subject }: ClosedAs & AttentionSubject,
): Promise<string[]> {
  const chosen =
    'ids' in subject
      ? sql`id = any(${column(subject.ids, 'bigint')})`
      : sql`kind = ${subject.kind} and ref_id = any(${column(subject.refIds, 'text')})`;
  const { rows } = await tx.execute<{ id: string }>(sql`
    with held as materialized (
      select id from attention_item
       where line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId} and status = 'open' and ${chosen}
       order by id
         for no key update
    )
    update attention_item as item
       set status = ${status}, closed_at = app_now(), closed_by = ${closedBy}, resolution = ${resolution}
      from held where item.id = held.id
    returning item.id`);
  return rows.map(({ id }) => id).sort((left, right) => Number(left) - Number(right));
}

import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, sql } from '@dueline/db';
import type { AttentionKind } from './open.ts';

export interface AttentionItem {
  readonly id: string;
  readonly kind: AttentionKind;
  readonly refId: string;
  readonly userId: string | null;
  readonly reasonCode: string;
  readonly detail: unknown;
  readonly status: 'open' | 'resolved' | 'dismissed';
  /** RFC 3339, product time. */
  readonly openedAt: string;
  readonly closedAt: string | null;
  readonly closedBy: string | null;
  readonly resolution: string | null;
}

type ItemRow = {
  id: string;
  kind: AttentionKind;
  ref_id: string;
  user_id: string | null;
  reason_code: string;
  detail: unknown;
  status: AttentionItem['status'];
  opened_at: string;
  closed_at: string | null;
  closed_by: string | null;
  resolution: string | null;
};

/**
 * Items of an account, oldest first.
 *
 * @param options.status `open` unless given.
 * @param options.after Id of the last item of the page before.
 * @param options.limit Items per page, 1 to 500; 100 unless given.
 */
export async function listAttention(
  db: Db,
  tenant: Tenant,
  {
    status = 'open',
    after = '0',
    limit = 100,
  }: { status?: AttentionItem['status']; after?: string; limit?: number } = {},
): Promise<AttentionItem[]> {
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<ItemRow>(sql`
      select id, kind, ref_id, user_id, reason_code, detail, status, to_json(opened_at) #>> '{}' as opened_at,
             to_json(closed_at) #>> '{}' as closed_at, closed_by, resolution
        from attention_item
       where line_oa_id = ${tenant.lineOaId} and status = ${status} and id > ${after}
       order by id limit ${limit}`);
    return rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      refId: row.ref_id,
      userId: row.user_id,
      reasonCode: row.reason_code,
      detail: row.detail,
      status: row.status,
      openedAt: row.opened_at,
      closedAt: row.closed_at,
      closedBy: row.closed_by,
      resolution: row.resolution,
    }));
  });
}

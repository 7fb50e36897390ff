import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';

/** A delivery to one person that LINE refused for good. */
export interface RefusedDelivery extends Tenant {
  readonly id: string;
  readonly userId: string | null;
}

/** Those of these deliveries that stand as refused. */
export async function refusedAmong(tx: Tx, ids: readonly string[]): Promise<RefusedDelivery[]> {
  const { rows } = await tx.execute<{
    id: string;
    organization_id: string;
    line_oa_id: string;
    user_id: string | null;
  }>(sql`
    select id, organization_id, line_oa_id, user_id from delivery
     where id = any(${column(ids, 'bigint')}) and status = 'refused' order by id`);
  return rows.map((row) => ({
    id: row.id,
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
    userId: row.user_id,
  }));
}

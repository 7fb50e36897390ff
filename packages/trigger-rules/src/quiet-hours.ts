import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';

/** Which of these people it is quiet for now, by the hours of their account and by its clocks or theirs. */
export async function inQuietHours(tx: Tx, tenant: Tenant, userIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (userIds.length === 0) return new Set();
  const { rows } = await tx.execute<{ user_id: string }>(sql`
    select user_id
      from unnest(${column([...new Set(userIds)], 'text')}) as person (user_id)
      join line_oa as account on account.id = ${tenant.lineOaId} and account.organization_id = ${tenant.organizationId}
     where quiet_until(app_now(), zone_of_quiet_hours(account, user_id), account.quiet_from, account.quiet_to) is not null`);
  return new Set(rows.map(({ user_id }) => user_id));
}

import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, sql, type Tx } from '@dueline/db';
import type { Signed } from './stop.ts';

/** What a person did to something of an account that keeps no trail of its own, and what it was before and after. */
export interface Deed extends Signed {
  /** A word of whoever records it, e.g. `delivery_resend`. */
  readonly operation: string;
  readonly before: Readonly<Record<string, unknown>>;
  readonly after: Readonly<Record<string, unknown>>;
}

/** Writes it down in audit_log, in the transaction that does it. */
export async function recordDeed(tx: Tx, tenant: Tenant, deed: Deed): Promise<void> {
  await tx.execute(sql`
    insert into audit_log (organization_id, line_oa_id, operation, before, after, done_by, reason)
    values (${tenant.organizationId}, ${tenant.lineOaId}, ${deed.operation}, ${JSON.stringify(deed.before)}::jsonb,
            ${JSON.stringify(deed.after)}::jsonb, ${deed.by}, ${deed.reason})`);
}

/** A deed as it stands in the audit trail; `at` is RFC 3339, product time. */
export interface PastDeed extends Deed {
  readonly at: string;
}

/**
 * What was done to one thing of the account, the earliest first: deeds whose operation begins with `operations` and whose `before` names
 * the id. At most 1,000.
 */
export async function listDeeds(
  db: Db,
  tenant: Tenant,
  { operations, id }: { operations: string; id: string },
): Promise<PastDeed[]> {
  const { rows } = await inTenant(db, tenant, (tx) =>
    tx.execute<{ [column in keyof PastDeed]: PastDeed[column] }>(sql`
      select operation, coalesce(before, '{}') as before, coalesce(after, '{}') as after, done_by as by, reason, to_json(created_at) #>> '{}' as at
        from audit_log
       where line_oa_id = ${tenant.lineOaId} and starts_with(operation, ${operations}) and before ->> 'id' = ${id}
       order by audit_log.id limit 1000`),
  );
  return rows;
}

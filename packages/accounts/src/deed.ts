import type { Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
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

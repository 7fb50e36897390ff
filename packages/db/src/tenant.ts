import type { Tenant } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from './open.ts';

/**
 * Runs `work` in one transaction that sees and writes the rows of `tenant` only: row level security hides every other row
 * and refuses to write one. For people's reads and writes (authoring, history); workers serve all tenants and name the
 * tenant in each statement.
 *
 * @throws TransientError when the database was not ready; whatever `work` throws otherwise.
 */
export function inTenant<T>(db: Db, tenant: Tenant, work: (tx: Tx) => Promise<T>): Promise<T> {
  return inTransaction(db, async (tx) => {
    await becomeTenant(tx, tenant);
    return work(tx);
  });
}

/**
 * The same for what must not write: one state of the database from begin to end, and whatever would change it is refused. It holds back the
 * clean-up of dead rows while it runs.
 */
export function readTenant<T>(db: Db, tenant: Tenant, work: (tx: Tx) => Promise<T>): Promise<T> {
  return inTransaction(db, async (tx) => {
    await tx.execute(sql`set transaction isolation level repeatable read, read only`);
    await becomeTenant(tx, tenant);
    return work(tx);
  });
}

async function becomeTenant(tx: Tx, { organizationId, lineOaId }: Tenant): Promise<void> {
  await tx.execute(sql`
    select set_config('app.organization_id', ${organizationId}, true), set_config('app.line_oa_id', ${lineOaId}, true)`);
  await tx.execute(sql`set local role dueline_tenant`);
}

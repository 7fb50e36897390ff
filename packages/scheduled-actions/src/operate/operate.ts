import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTenant } from '@dueline/db';
import { type Application, applyOperation, type OperationOutcome } from './apply.ts';
import { resolveOperation } from './operation.ts';

/**
 * One change of one action by a person, with a row of audit trail: whole or not at all, and only under the fence that the
 * person saw. A worker that decides the row at this moment is waited for; who came second finds nothing to do and is told why.
 * Cancelling what is done cancels its message instead, while that has not left.
 *
 * @throws PermanentError when the operation itself is wrong: what, where.
 */
export async function operate(
  db: Db,
  tenant: Tenant,
  { ticket, operation, ...rest }: Omit<Application, 'tenant' | 'tickets'> & { ticket: Ticket },
): Promise<OperationOutcome> {
  const [outcome] = await inTenant(db, tenant, async (tx) =>
    applyOperation(tx, {
      ...rest,
      tenant,
      operation: await resolveOperation(tx, tenant, operation),
      tickets: [ticket],
    }),
  );
  if (outcome === undefined) throw new Error('an operation on one action had no outcome');
  return outcome;
}

import type { Tenant, TenantTicket } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { type ActionToSchedule, type Claim, claimBatch, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import type { DecideDeps } from '../src/deps.ts';
import { fireScheduledActions } from '../src/fire-scheduled-action.ts';
import { message, userId } from './support.ts';

export const context = { signal: new AbortController().signal };

export const claimOf = (via: Claim['via'], limit = 500): Claim => ({
  claimedBy: `test/${via}:1`,
  via,
  limit,
  leaseSeconds: 60,
  maxProcessing: 5_000,
  overdueMs: 0,
  graceSeconds: 0,
});

/** Actions that are due, one for each of the first `count` users; their ids in that order. */
export async function dueActions(
  db: Db,
  tenant: Tenant,
  { count, ...changes }: { count: number } & Partial<ActionToSchedule>,
): Promise<string[]> {
  const actions = Array.from({ length: count }, (_, n) =>
    actionToSchedule(tenant, { userId: userId(n), dedupKey: `${n}`.padStart(6, '0'), ...changes }),
  );
  const results = await inTransaction(db, (tx) => scheduleMany(tx, actions));
  return results.flatMap((result) => (result.result === 'made' ? result.id : []));
}

export const claimAll = (db: Db): Promise<TenantTicket[]> => claimBatch(db, claimOf('queue'));

/** Gives the consumer of scheduled_action_fire one message. */
export const fire = (
  deps: DecideDeps,
  tickets: readonly TenantTicket[],
  { deliveryCount = 0 }: { deliveryCount?: number } = {},
) => {
  const [first] = tickets;
  if (first === undefined) throw new Error('a message has tickets');
  const { organizationId, lineOaId } = first;
  return fireScheduledActions(deps)(
    { ...message({ organizationId, lineOaId }, { tickets: [...tickets] }), deliveryCount },
    context,
  );
};

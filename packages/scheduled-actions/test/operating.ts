import type { Tenant, TenantTicket } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { insertRow, lineUserId, lockWaiters } from '@dueline/db/testing';
import {
  type ActionOperation,
  type CancelDeliveries,
  finishActions,
  holdActions,
  operate,
} from '@dueline/scheduled-actions';

/** Nothing here is done, so nothing has a message to stop. */
export const noDeliveries: CancelDeliveries = () => Promise.reject(new Error('no delivery was to be cancelled'));

export const HELLO = { messages: [{ type: 'text', text: 'hello' }] };

/** An action of the account as the columns say, else pending and due in an hour; its id. */
export async function insertAction(db: Db, tenant: Tenant, columns: Record<string, unknown> = {}): Promise<string> {
  const inAnHour = new Date(Date.now() + 3_600_000);
  const { id } = await insertRow(db, 'scheduled_action', {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: lineUserId(1) },
    ...{ action_type: 'send_message', action_config: HELLO, dedup_key: crypto.randomUUID() },
    ...{ execute_at: inAnHour, due_at: inAnHour, ...columns },
  });
  return String(id);
}

/** A message of an action as its ledger has it, planned unless the columns say otherwise. */
export const insertDeliveryOf = (
  db: Db,
  { organizationId, lineOaId }: Tenant,
  { actionId, ...columns }: { actionId: string; [column: string]: unknown },
) =>
  insertRow(db, 'delivery', {
    ...{
      organization_id: organizationId,
      line_oa_id: lineOaId,
      user_id: lineUserId(1),
      endpoint: 'push',
      kind: 'action',
    },
    ...{
      logical_id: actionId,
      scheduled_action_id: actionId,
      retry_key: crypto.randomUUID(),
      body: '{}',
      body_sha256: '',
    },
    ...{ deliver_until: new Date(), ...columns },
  });

/** What it takes to be claimed, done, failed or cancelled, beside the status. */
export const claimed = {
  status: 'processing',
  attempt: 1,
  lease_until: new Date(Date.now() + 300_000),
  claimed_by: 'cron:1',
};
export const ended = (status: 'done' | 'failed' | 'cancelled') => ({
  ...{ status, executed_at: new Date(), attempt: 1 },
  ...(status === 'cancelled' ? { cancel_reason: 'rule_disabled' } : {}),
  ...(status === 'failed' ? { retry_count: 3, rescue_count: 1, last_error: 'it broke' } : {}),
});

/** The decision of a worker that holds the ticket; the ids that moved. */
export const decideAs = (db: Db, ticket: TenantTicket, to: 'done' | 'failed' = 'done'): Promise<string[]> =>
  inTransaction(db, async (tx) => {
    const held = await holdActions(tx, [ticket]);
    const outcomes = held.map(({ id, fence }) => ({ id, fence, to, error: 'it broke' }) as const);
    return [...(await finishActions(tx, outcomes))];
  });

export async function rowOf(db: Db, id: string, columns = '*'): Promise<Record<string, unknown>> {
  const { rows } = await db.$client.query(`select ${columns} from scheduled_action where id = $1`, [id]);
  return rows[0];
}

export const editsOf = async (db: Db, id: string): Promise<Record<string, unknown>[]> => {
  const { rows } = await db.$client.query(
    `select operation, before, after, edited_by, reason from scheduled_action_edit where scheduled_action_id = $1 order by id`,
    [id],
  );
  return rows;
};

/** The operation of a person who saw the action as it is now, or under another fence. */
export async function act(
  db: Db,
  tenant: Tenant,
  { id, fence, operation }: { id: string; fence?: string; operation: ActionOperation },
) {
  const seen = fence ?? String((await rowOf(db, id, 'fence'))?.fence ?? '0');
  return operate(db, tenant, {
    ...{ ticket: { id, fence: seen }, operation, by: 'mika', why: 'because' },
    cancelDeliveries: noDeliveries,
  });
}

/** Runs `work` while another transaction holds the row; `waited` waits until so many wait for it in a queue. */
async function whileHeld<T>(
  db: Db,
  id: string,
  work: (waited: (count: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const holder = await db.$client.connect();
  try {
    await holder.query('begin');
    await holder.query('select from scheduled_action where id = $1 for no key update', [id]);
    return await work((count) => lockWaiters(db, count));
  } finally {
    await holder.query('rollback');
    holder.release();
  }
}

/** Two transactions about one row, in an order that is sure: both wait in a queue for somebody who holds it, the first before the second. */
export async function inOrder<A, B>(
  db: Db,
  id: string,
  [first, second]: [() => Promise<A>, () => Promise<B>],
): Promise<[A, B]> {
  const [one, two] = await whileHeld(db, id, async (waited) => {
    const started = first();
    await waited(1);
    const startedToo = second();
    await waited(2);
    return [() => started, () => startedToo] as const;
  });
  return Promise.all([one(), two()]);
}

/** One transaction that waits for the row, and something that somebody does meanwhile. */
export async function meanwhile<A, B>(
  db: Db,
  id: string,
  [first, second]: [() => Promise<A>, () => Promise<B>],
): Promise<[A, B]> {
  const [one, told] = await whileHeld(db, id, async (waited) => {
    const started = first();
    await waited(1);
    return [() => started, await second()] as const;
  });
  return [await one(), told];
}

import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, moveProductTime } from '@dueline/db/testing';
import {
  type AttemptResult,
  type CreatedDelivery,
  createDeliveries,
  type DeliveryToCreate,
  type Start,
  type StartedDelivery,
  settleDeliveries,
  startDeliveries,
} from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';

const START: Start = { claimedBy: 'sender-1:boot', leaseSeconds: 60, settleSeconds: 30 };
export const HOUR = 3_600;

export const create = (db: Db, sends: readonly DeliveryToCreate[]) =>
  inTransaction(db, (tx) => createDeliveries(tx, sends));

/** Plans one delivery. */
export async function plan(db: Db, tenant: Tenant, changes: Partial<DeliveryToCreate> = {}): Promise<CreatedDelivery> {
  const [created] = await create(db, [deliveryToCreate(tenant, changes)]);
  if (created === undefined) throw new Error('nothing was created');
  return created;
}

export const start = (
  db: Db,
  tenant: Tenant,
  { tickets, ...changes }: { tickets: readonly Ticket[] } & Partial<Start>,
) => startDeliveries(db, tenant, { tickets, start: { ...START, ...changes } });

/** Starts a row under whatever fence it has now; undefined when it may not be started. */
export async function startNow(db: Db, tenant: Tenant, id: string): Promise<StartedDelivery | undefined> {
  const [fence] = await columnOf(db, 'select fence from delivery where id = $1', [id]);
  const [started] = await start(db, tenant, { tickets: [{ id, fence: String(fence) }] });
  return started;
}

/** Starts a row that must be startable. */
export async function mustStart(db: Db, tenant: Tenant, id: string): Promise<StartedDelivery> {
  const started = await startNow(db, tenant, id);
  if (started === undefined) throw new Error('the delivery may not be started');
  return started;
}

/** Settles one attempt; whether the row moved. */
export const settle = async (db: Db, started: StartedDelivery, result: AttemptResult): Promise<boolean> =>
  (await settleDeliveries(db, [{ started, result }])).has(started.id);

/** Status, fence and reason of a delivery, and the outcomes of its attempts. */
export const stateOf = async (db: Db, id: string): Promise<string> =>
  String(
    (
      await columnOf(
        db,
        `select concat_ws(' ', status, fence, coalesce(reason_code, '-'),
                  (select string_agg(coalesce(outcome, '?'), ',' order by attempt_no) from delivery_attempt where delivery_id = delivery.id))
           from delivery where id = $1`,
        [id],
      )
    )[0],
  );

/** Lets every wait of back-off pass. */
export const letWaitsPass = (db: Db) => moveProductTime(db, 15 * 60);

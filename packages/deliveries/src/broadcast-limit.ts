import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTransaction, sql, type Tx, ticketRows } from '@dueline/db';
import { postponeDeliveries } from './postpone.ts';

/** Broadcasts of an account within an hour of product time: two thirds of what LINE documents (60). */
const BROADCASTS_PER_HOUR = 40;
const HOUR_MS = 3_600_000;

/** Which tickets may be started, and which of these are broadcasts that have taken a place within the hour. */
export interface Screened {
  readonly tickets: readonly Ticket[];
  readonly broadcasts: readonly Ticket[];
}

/**
 * Takes a place within the hour for each ticket that stands for a broadcast; those for which none is left are postponed until one is
 * free, and left out. Everything else passes.
 *
 * @throws TransientError when the database was not ready.
 */
export async function takeBroadcastPlaces(db: Db, tenant: Tenant, tickets: readonly Ticket[]): Promise<Screened> {
  const isBroadcast = await idsOfBroadcasts(db, tenant, tickets);
  if (isBroadcast.size === 0) return { tickets, broadcasts: [] };
  const wanted = tickets.filter(({ id }) => isBroadcast.has(id));
  const taken = await inTransaction(db, async (tx) => {
    const freeInMs = await lockPlaces(tx, tenant);
    const count = Math.min(wanted.length, BROADCASTS_PER_HOUR - freeInMs.length);
    await keepPlaces(tx, tenant, count);
    const places = [...freeInMs, ...Array.from({ length: count }, () => HOUR_MS)];
    const late = wanted.slice(count).map((ticket, n) => ({ ...ticket, waitMs: waitFor(places, n) }));
    await postponeDeliveries(tx, tenant, late);
    return count;
  });
  const late = new Set(wanted.slice(taken).map(({ id }) => id));
  return { tickets: tickets.filter(({ id }) => !late.has(id)), broadcasts: wanted.slice(0, taken) };
}

/** Gives back the newest places of an account: that many broadcasts were not begun after all. */
export async function giveBackBroadcastPlaces(db: Db, tenant: Tenant, count: number): Promise<void> {
  if (count === 0) return;
  await db.execute(sql`
    update broadcast_limit set taken_at = taken_at[:greatest(0, cardinality(taken_at) - ${count}::int)]
     where line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId}`);
}

/** In how many milliseconds the n-th that waits finds a place: as they become free, then an hour after those before it. */
function waitFor(places: readonly number[], n: number): number {
  return Math.ceil((places[n % places.length] ?? HOUR_MS) + Math.floor(n / places.length) * HOUR_MS);
}

async function idsOfBroadcasts(db: Db, tenant: Tenant, tickets: readonly Ticket[]): Promise<ReadonlySet<string>> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select delivery.id
      from delivery join ${ticketRows(tickets)} on delivery.id = ticket.id and delivery.fence = ticket.fence
     where delivery.endpoint = 'broadcast' and delivery.status = 'planned' and delivery.next_attempt_at <= app_now()
       and delivery.organization_id = ${tenant.organizationId} and delivery.line_oa_id = ${tenant.lineOaId}`);
  return new Set(rows.map(({ id }) => id));
}

/** Locks the account's places until the transaction ends. @returns In how many milliseconds each taken one is free, ascending. */
async function lockPlaces(tx: Tx, { organizationId, lineOaId }: Tenant): Promise<number[]> {
  await tx.execute(sql`
    insert into broadcast_limit (line_oa_id, organization_id) values (${lineOaId}, ${organizationId}) on conflict do nothing`);
  await tx.execute(sql`select from broadcast_limit where line_oa_id = ${lineOaId} for update`);
  const { rows } = await tx.execute<{ free_in_ms: number }>(sql`
    select (extract(epoch from taken.at + interval '1 hour' - app_now()) * 1000)::float8 as free_in_ms
      from broadcast_limit cross join lateral unnest(taken_at) as taken (at)
     where line_oa_id = ${lineOaId} and taken.at > app_now() - interval '1 hour'
     order by taken.at`);
  return rows.map((row) => row.free_in_ms);
}

async function keepPlaces(tx: Tx, { lineOaId }: Tenant, more: number): Promise<void> {
  await tx.execute(sql`
    update broadcast_limit
       set taken_at = array(select at from unnest(taken_at) as taken (at) where at > app_now() - interval '1 hour' order by at)
                      || array_fill(app_now(), array[${more}::int])
     where line_oa_id = ${lineOaId}`);
}

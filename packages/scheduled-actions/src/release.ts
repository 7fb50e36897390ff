import type { TenantTicket } from '@dueline/contracts';
import { type Db, sql, ticketRows } from '@dueline/db';
import { wakeDue } from './wake.ts';

/**
 * processing -> pending for claimed rows whose ticket did not reach a worker; the try is given back. Rows whose fence moved
 * on are left alone. Returns how many rows it released.
 */
export async function releaseActions(db: Db, tickets: readonly TenantTicket[]): Promise<number> {
  if (tickets.length === 0) return 0;
  return release(
    db,
    sql`
      select action.id
        from scheduled_action as action
        join ${ticketRows(tickets)}
          on action.id = ticket.id and action.fence = ticket.fence
       where action.status = 'processing'
       order by action.id
         for no key update of action`,
  );
}

/** Rows per call of {@link releaseUntaken}. */
const BATCH = 500;

/**
 * processing -> pending for rows of the queue profile, whoever announced them, that nobody took for `olderThanSeconds` of process
 * time; the try is given back, and a ticket that turns up all the same is refused. For when the queue is known to have lost
 * them: rows that a worker holds at this moment are skipped. In batches of 500; returns how many it released.
 */
export async function releaseUntaken(db: Db, { olderThanSeconds }: { olderThanSeconds: number }): Promise<number> {
  let released = 0;
  for (let count = BATCH; count >= BATCH; released += count) {
    count = await release(
      db,
      sql`
        select id from scheduled_action
         where status = 'processing' and claimed_via = 'queue'
           and updated_at < clock_timestamp() - make_interval(secs => ${olderThanSeconds})
         order by id limit ${BATCH}
           for no key update skip locked`,
    );
  }
  return released;
}

async function release(db: Db, held: ReturnType<typeof sql>): Promise<number> {
  const { rowCount } = await db.execute(sql`
    with held as materialized (${held})
    update scheduled_action as action
       set status = 'pending', fence = action.fence + 1, attempt = action.attempt - 1, lease_until = null, updated_at = clock_timestamp()
      from held where action.id = held.id`);
  const released = rowCount ?? 0;
  if (released > 0) await wakeDue(db);
  return released;
}

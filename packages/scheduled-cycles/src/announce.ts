import type { TenantTicket, Ticket } from '@dueline/contracts';
import { type Db, sql, ticketRows } from '@dueline/db';

type TicketRow = { id: string; fence: string; organization_id: string; line_oa_id: string };

/**
 * Tickets for cycles whose people are still to be read and that nobody reads: never announced, or announced `againAfterSeconds` of process time ago,
 * or their reader's lease is over. The fence does not move: a ticket that waits in a queue stays good. None that is paused, that
 * waits for an earlier one of its rule, or of a stopped account.
 */
export async function announceCycles(
  db: Db,
  { limit, againAfterSeconds }: { limit: number; againAfterSeconds: number },
): Promise<TenantTicket[]> {
  const { rows } = await db.execute<TicketRow>(sql`
    with due as materialized (
      select id from scheduled_trigger_execution as cycle
       where status = 'processing' and not read_all and paused_at is null
         and (lease_until is null or lease_until < clock_timestamp())
         and (published_at is null or published_at < clock_timestamp() - make_interval(secs => ${againAfterSeconds}))
         and not (waits_its_turn and exists (
               select from scheduled_trigger_execution as earlier
                where earlier.trigger_rule_id = cycle.trigger_rule_id and earlier.status = 'processing'
                  and earlier.scheduled_at < cycle.scheduled_at))
         and not exists (select from line_oa join organization on organization.id = line_oa.organization_id
                          where line_oa.id = cycle.line_oa_id and (line_oa.stopped_at is not null or organization.stopped_at is not null))
       order by scheduled_at, id limit ${limit}
         for no key update skip locked
    )
    update scheduled_trigger_execution as cycle set published_at = clock_timestamp()
      from due where cycle.id = due.id
    returning cycle.id, cycle.fence, cycle.organization_id, cycle.line_oa_id`);
  return rows.map((row) => ({
    ...{ id: row.id, fence: row.fence, organizationId: row.organization_id, lineOaId: row.line_oa_id },
  }));
}

/** Marks cycles whose ticket did not reach the broker as unannounced. */
export async function unpublishCycles(db: Db, tickets: readonly TenantTicket[]): Promise<void> {
  if (tickets.length === 0) return;
  await db.execute(sql`
    with held as materialized (
      select cycle.id from scheduled_trigger_execution as cycle
        join ${ticketRows(tickets)} on cycle.id = ticket.id and cycle.fence = ticket.fence
       order by cycle.id for no key update of cycle
    )
    update scheduled_trigger_execution as cycle set published_at = null from held where cycle.id = held.id`);
}

/** Gives up a cycle whose people are not all read, so that it is announced at once. */
export async function releaseCycle(db: Db, { id, fence }: Ticket): Promise<void> {
  await db.execute(sql`
    update scheduled_trigger_execution set fence = fence + 1, lease_until = null, published_at = null
     where id = ${id} and fence = ${fence} and status = 'processing'`);
}

/**
 * Gives up what an earlier boot of this very instance was reading, so that a restart costs a second and not a lease.
 *
 * @param options.claimedBy `<instance>:<boot>` of the caller.
 */
export async function releaseEarlierBoots(db: Db, { claimedBy }: { claimedBy: string }): Promise<number> {
  const instance = claimedBy.slice(0, claimedBy.lastIndexOf(':')); // a boot id has no colon, an instance name may
  const { rowCount } = await db.execute(sql`
    update scheduled_trigger_execution set fence = fence + 1, lease_until = null, published_at = null
     where status = 'processing' and lease_until is not null
       and regexp_replace(claimed_by, ':[^:]*$', '') = ${instance} and claimed_by <> ${claimedBy}`);
  return rowCount ?? 0;
}

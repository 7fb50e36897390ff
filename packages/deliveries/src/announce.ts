import type { TenantTicket } from '@dueline/contracts';
import { type Db, sql, type Tx, ticketRows } from '@dueline/db';

/** A ticket, and whether it stands for a chunk of a campaign or for a webhook: those have queues of their own. */
export interface AnnouncedDelivery extends TenantTicket {
  readonly isChunk: boolean;
  readonly isWebhook: boolean;
}

type TicketRow = {
  id: string;
  fence: string;
  organization_id: string;
  line_oa_id: string;
  is_chunk: boolean;
  is_webhook: boolean;
};

const parseTicket = (row: TicketRow): AnnouncedDelivery => ({
  id: row.id,
  fence: row.fence,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  isChunk: row.is_chunk,
  isWebhook: row.is_webhook,
});

/** Longest wait between two announcements of a row that nobody took, in seconds. */
const MAX_ANNOUNCE_SECONDS = 600;
/** Announcements are counted up to here; the wait has long reached its maximum. */
const MAX_ANNOUNCE_COUNT = 20;

const isAtWork = sql`
  not exists (select from line_oa join organization on organization.id = line_oa.organization_id
               where line_oa.id = delivery.line_oa_id and (line_oa.stopped_at is not null or organization.stopped_at is not null))`;

/**
 * Tickets for rows that are due and unannounced, or announced `againAfterSeconds` · 2^announcements ago (at most 10 minutes)
 * and still planned. The fence does not move: a ticket that waits in a queue stays good. Nothing of a stopped account is announced.
 * How often a row was announced says how long its wait is, so each count is a range of the index: what was announced and waits is
 * not read.
 */
export async function announceDeliveries(
  db: Db,
  { limit, againAfterSeconds }: { limit: number; againAfterSeconds: number },
): Promise<AnnouncedDelivery[]> {
  const { rows } = await db.execute<TicketRow>(sql`
    with announced as materialized (
      select times, clock_timestamp() as published_at, make_interval(secs => least(${MAX_ANNOUNCE_SECONDS}, ${againAfterSeconds} * power(2, times))) as wait
        from generate_series(0, ${MAX_ANNOUNCE_COUNT}::int) as times
    ), due as materialized (
      select id from (
        select unannounced.id
          from (
            select id from delivery
             where status = 'planned' and published_at is null and next_attempt_at <= app_now() and ${isAtWork}
             order by next_attempt_at, id limit ${limit}
               for no key update skip locked) as unannounced
         union all
        select again.id
          from announced cross join lateral (
            select id from delivery
             where status = 'planned' and published_at is not null and announce_count = announced.times
               and delivery.published_at < announced.published_at - announced.wait and next_attempt_at <= app_now() and ${isAtWork}
             order by delivery.published_at limit ${limit}
               for no key update skip locked) as again) as either
       limit ${limit}
    )
    update delivery
       set published_at = clock_timestamp(), announce_count = least(delivery.announce_count + 1, ${MAX_ANNOUNCE_COUNT}::int)
     where delivery.id = any(array(select id from due))
    returning delivery.id, delivery.fence, delivery.organization_id, delivery.line_oa_id, delivery.kind = 'campaign' as is_chunk,
              delivery.endpoint = 'webhook' as is_webhook`);
  return rows.map(parseTicket);
}

/**
 * Tickets for all that is left of a campaign and due, whenever it was announced before: its new claim goes on with them. In id
 * order.
 */
export async function announceCampaignDeliveries(
  tx: Tx,
  { campaignId }: { campaignId: string },
): Promise<AnnouncedDelivery[]> {
  const { rows } = await tx.execute<TicketRow>(sql`
    with rest as materialized (
      select id from delivery
       where campaign_id = ${campaignId} and status = 'planned' and next_attempt_at <= app_now()
       order by id
         for no key update
    )
    update delivery set published_at = clock_timestamp()
      from rest where delivery.id = rest.id
    returning delivery.id, delivery.fence, delivery.organization_id, delivery.line_oa_id, true as is_chunk, false as is_webhook`);
  return rows.map(parseTicket);
}

/** Marks rows whose ticket did not reach the broker as unannounced, so that the next sweep takes them. Locks in id order. */
export async function unpublishDeliveries(db: Db, tickets: readonly TenantTicket[]): Promise<void> {
  if (tickets.length === 0) return;
  await db.execute(sql`
    with held as materialized (
      select delivery.id
        from delivery
        join ${ticketRows(tickets)} on delivery.id = ticket.id and delivery.fence = ticket.fence
       where delivery.status = 'planned'
       order by delivery.id
         for no key update of delivery
    )
    update delivery set published_at = null from held where delivery.id = held.id`);
}

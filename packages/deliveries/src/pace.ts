import type { Tenant, Ticket } from '@dueline/contracts';
import { column, type Db, inTransaction, sql, type Tx, ticketRows } from '@dueline/db';
import { DELIVER_WITHIN_HOURS } from './insert.ts';
import { type PostponedTicket, postponeDeliveries } from './postpone.ts';

/** What was begun so much too late is made up for: tickets are announced once a second. */
const CREDIT_MS = 2_000;

/** As many as come in a message. */
const MAX_GRANTED = 100;

interface PacedTicket extends Ticket {
  readonly campaignId: string;
  readonly retryKey: string;
  readonly people: number;
}

interface Pace {
  /** Milliseconds that a person takes up. */
  readonly msPerPerson: number;
  /** Milliseconds from now. */
  nextMs: number;
  backMs: number;
  /** Keys of chunks that were let begin last, and may not have done so yet; one that is planned anew has another. */
  granted: readonly string[];
}

/**
 * The tickets that may be begun as far as the pace of their campaigns goes (`max_per_minute`): a chunk takes up the time that its people take
 * at that pace, for all replicas together, so that no minute sees more than these people and one chunk. Those that come too early are postponed to
 * their places, and, unless the campaign has a last instant, worth sending for as much longer. Only first attempts of whole chunks of multicasts are
 * counted; everything else passes.
 *
 * @throws TransientError when the database was not ready.
 */
export async function takePace(db: Db, tenant: Tenant, tickets: readonly Ticket[]): Promise<readonly Ticket[]> {
  const paced = await pacedAmong(db, tenant, tickets);
  if (paced.length === 0) return tickets;
  const late = await inTransaction(db, async (tx) => {
    const paces = await lockPaces(tx, tenant, paced);
    const postponed = paced.flatMap((ticket) => placeOf(ticket, paces.get(ticket.campaignId)));
    await keepPaces(tx, paces);
    await postponeDeliveries(tx, tenant, postponed);
    await extend(tx, tenant, postponed);
    return new Set(postponed.map(({ id }) => id));
  });
  return tickets.filter(({ id }) => !late.has(id));
}

/** Moves the pace on, by a chunk that begins or by one that gets a place; the latter comes back. */
function placeOf({ id, fence, people, retryKey }: PacedTicket, pace: Pace | undefined): PostponedTicket[] {
  if (pace === undefined || pace.granted.includes(retryKey)) return [];
  const costMs = people * pace.msPerPerson;
  if (pace.nextMs <= 0) {
    pace.granted = [...pace.granted, retryKey].slice(-MAX_GRANTED);
    pace.nextMs = Math.max(pace.nextMs, -CREDIT_MS) + costMs;
    return [];
  }
  const waitMs = Math.max(pace.backMs, pace.nextMs);
  pace.backMs = waitMs + costMs;
  return [{ id, fence, waitMs }];
}

async function pacedAmong(db: Db, tenant: Tenant, tickets: readonly Ticket[]): Promise<PacedTicket[]> {
  const { rows } = await db.execute<{
    id: string;
    fence: string;
    campaign_id: string;
    retry_key: string;
    people: number;
  }>(sql`
    select delivery.id, delivery.fence, delivery.campaign_id, delivery.retry_key, chunk.user_count as people
      from delivery
      join ${ticketRows(tickets)} on delivery.id = ticket.id and delivery.fence = ticket.fence
      join campaign on campaign.id = delivery.campaign_id and campaign.max_per_minute is not null and campaign.status = 'sending'
      join campaign_chunk as chunk on chunk.campaign_id = delivery.campaign_id and chunk.chunk_no = delivery.chunk_no and chunk.user_count > 0
     where delivery.status = 'planned' and delivery.next_attempt_at <= app_now() and delivery.deliver_until > app_now()
       and delivery.first_attempt_at is null and delivery.split_path = ''
       and delivery.organization_id = ${tenant.organizationId} and delivery.line_oa_id = ${tenant.lineOaId}
     group by delivery.id, delivery.fence, delivery.campaign_id, delivery.retry_key, chunk.user_count
     order by delivery.id`);
  return rows.map((row) => ({
    ...{ id: row.id, fence: row.fence, campaignId: row.campaign_id },
    ...{ retryKey: row.retry_key, people: row.people },
  }));
}

/** Locks where these campaigns stand, in id order, until the transaction ends. */
async function lockPaces(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  paced: readonly PacedTicket[],
): Promise<Map<string, Pace>> {
  const ids = column([...new Set(paced.map(({ campaignId }) => campaignId))], 'bigint');
  await tx.execute(sql`
    insert into campaign_pace (campaign_id, organization_id, line_oa_id, next_at)
    select id, organization_id, line_oa_id, coalesce(frozen_at, app_now())
      from campaign where id = any(${ids}) and organization_id = ${organizationId} and line_oa_id = ${lineOaId} order by id
        on conflict do nothing`);
  await tx.execute(
    sql`select from campaign_pace where campaign_id = any(${ids}) order by campaign_id for no key update`,
  );
  // A statement of its own: what it waited for is seen by this one, the pace too, which a person may have changed.
  const { rows } = await tx.execute<{
    campaign_id: string;
    ms_per_person: number;
    next_ms: number;
    back_ms: number;
    granted_keys: string[];
  }>(sql`
    select campaign_id, 60000::float8 / campaign.max_per_minute as ms_per_person,
           (extract(epoch from next_at - app_now()) * 1000)::float8 as next_ms,
           (extract(epoch from back_at - app_now()) * 1000)::float8 as back_ms, granted_keys::text[] as granted_keys
      from campaign_pace join campaign on campaign.id = campaign_id
     where campaign_id = any(${ids}) and campaign.max_per_minute is not null`);
  return new Map(
    rows.map((row) => [
      row.campaign_id,
      { msPerPerson: row.ms_per_person, nextMs: row.next_ms, backMs: row.back_ms, granted: row.granted_keys },
    ]),
  );
}

async function keepPaces(tx: Tx, paces: ReadonlyMap<string, Pace>): Promise<void> {
  const kept = [...paces];
  await tx.execute(sql`
    update campaign_pace set next_at = app_now() + make_interval(secs => kept.next_ms / 1000),
                             back_at = app_now() + make_interval(secs => kept.back_ms / 1000),
                             granted_keys = string_to_array(kept.granted_keys, ',')::uuid[]
      from unnest(${column(
        kept.map(([id]) => id),
        'bigint',
      )}, ${column(
        kept.map(([, { nextMs }]) => nextMs),
        'float8',
      )}, ${column(
        kept.map(([, { backMs }]) => backMs),
        'float8',
      )}, ${column(
        kept.map(([, { granted }]) => granted.join(',')),
        'text',
      )}) as kept (id, next_ms, back_ms, granted_keys)
     where campaign_id = kept.id`);
}

/** Waiting for its pace must not make a chunk too late. */
async function extend(tx: Tx, tenant: Tenant, postponed: readonly PostponedTicket[]): Promise<void> {
  if (postponed.length === 0) return;
  await tx.execute(sql`
    update delivery set deliver_until = greatest(deliver_until, next_attempt_at + make_interval(hours => ${DELIVER_WITHIN_HOURS}))
      from campaign
     where campaign.id = delivery.campaign_id and campaign.not_after is null
       and delivery.id = any(${column(
         postponed.map(({ id }) => id),
         'bigint',
       )})
       and delivery.status = 'planned' and delivery.line_oa_id = ${tenant.lineOaId}`);
}

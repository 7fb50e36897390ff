import { EVENT_TOPICS, type EventTopic, type TenantTicket } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { arrayLiteral, ticketRows } from '../batch.ts';
import type { Db } from '../open.ts';
import { given, statement } from '../statement.ts';
import { firstAhead, inOrder } from './in-order.ts';

/** On which channel it is told that something happened. */
export const EVENTS_CHANNEL = 'event_outbox';

/** What this build can announce: while a later one is rolled out, its new topics are left to it. */
const KNOWN_TOPICS = arrayLiteral(EVENT_TOPICS);

/** A ticket on one row of event_outbox, and where it goes. */
export interface EventTicket extends TenantTicket {
  readonly topic: EventTopic;
}

export interface OutboxLimits {
  /** Rows per call, 1 or more. */
  limit: number;
  /** How long an announced row is left to the consumers before it is announced again, in seconds of process time. */
  leaseSeconds: number;
  /** At most this many rows are announced and undecided, so that a queue never outgrows what its consumers take. */
  maxPublished: number;
  /**
   * How long an event is left to those who take it straight from the outbox, in milliseconds of process time; 0: to nobody. Crowds, and what
   * must be decided alone, are left to nobody.
   */
  headStartMs?: number;
  /** How many there are, for whoever counted them a moment ago ({@link countPublished}): to count costs as much as there are. */
  published?: number;
}

/**
 * pending -> published for the oldest rows, and a new lease for published rows whose lease is over. The latter keep their
 * fence, so a ticket that still waits in a queue stays good. A row that changed while it was locked is left to the next call. What is older
 * than a row that is announced is announced with it, whatever its head start, so that a person's events stay in order; and what is behind an event
 * that somebody takes at this moment is left to the next call.
 *
 * Safe from any number of replicas at once: a row that another one holds is skipped.
 */
export async function announceEvents(db: Db, limits: OutboxLimits): Promise<EventTicket[]> {
  const { limit, leaseSeconds, maxPublished, headStartMs = 0, published = null } = limits;
  const rows = await announce(db, { limit, leaseSeconds, maxPublished, headStartMs, published, topics: KNOWN_TOPICS });
  return rows.map(parseTicket);
}

type Announcing = Required<{ [Of in keyof OutboxLimits]: number | null }> & { topics: string };

const announce = statement<EventTicketRow, Announcing>(sql`
  with overdue as materialized (
    select ctid from event_outbox
     where status = 'published' and lease_until < (select clock_timestamp()) -- by the index: what is asked for each row is not
       and topic = any(${given('topics')}::text[])
     order by lease_until
     limit ${given('limit')} for no key update skip locked
  ), room as materialized (
    select least(${given('limit')}::bigint - (select count(*) from overdue),
                 ${given('maxPublished')}::bigint
                   - coalesce(${given('published')}::bigint, (select count(*) from event_outbox where status = 'published'))) as rows
  ), newest as materialized (
    select id from event_outbox
     where status = 'pending' and topic = any(${given('topics')}::text[])
       and (bulk or alone or recorded_at not between (select clock_timestamp()) - make_interval(secs => ${given('headStartMs')}::float8 / 1000)
                                                 and (select clock_timestamp())) -- later: by a clock that was set back since
     order by id desc limit 1
  ), fresh as materialized (
    select id, ctid, line_oa_id, user_id from event_outbox
     where status = 'pending' and topic = any(${given('topics')}::text[]) and id <= (select id from newest)
     order by id
     limit (select greatest(rows, 0) from room) for no key update skip locked
  ), ahead as materialized (${firstAhead(sql`fresh`, sql`older.status = 'pending' and older.topic = any(${given('topics')}::text[])`)}
  ), again as (
    update event_outbox as event
       set lease_until = clock_timestamp() + make_interval(secs => ${given('leaseSeconds')})
     where event.ctid = any(array(select ctid from overdue)) -- where they lie: no estimate can make the planner read the whole table
    returning event.id, event.fence, event.topic, event.organization_id, event.line_oa_id
  ), first as (
    update event_outbox as event
       set status = 'published',
           fence = event.fence + 1,
           lease_until = clock_timestamp() + make_interval(secs => ${given('leaseSeconds')})
     where event.ctid = any(${inOrder(sql`fresh`)})
    returning event.id, event.fence, event.topic, event.organization_id, event.line_oa_id
  )
  select * from again union all select * from first order by id`);

export type EventTicketRow = {
  id: string;
  fence: string;
  topic: EventTopic;
  organization_id: string;
  line_oa_id: string;
};

export function parseTicket(row: EventTicketRow): EventTicket {
  return {
    id: row.id,
    fence: row.fence,
    topic: row.topic,
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
  };
}

/**
 * Milliseconds until the oldest event that waits may be announced; 0: it may be, and a call of {@link announceEvents} that did not was too full,
 * or somebody takes it at this moment.
 */
export async function untilAnnounced(db: Db, headStartMs: number): Promise<number[]> {
  const rows = await readOldest(db, { headStartMs, topics: KNOWN_TOPICS });
  return rows.map(({ ms }) => (ms > headStartMs ? 0 : Math.max(0, ms))); // more: by a clock that was set back since
}

const readOldest = statement<{ ms: number }, { headStartMs: number; topics: string }>(sql`
  select (extract(epoch from recorded_at - clock_timestamp()) * 1000 + ${given('headStartMs')}::float8)::float8 as ms
    from event_outbox where status = 'pending' and topic = any(${given('topics')}::text[]) order by id limit 1`);

/** How many rows are announced and not decided yet. */
export async function countPublished(db: Db): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from event_outbox where status = 'published'`,
  );
  return rows[0]?.count ?? 0;
}

/**
 * Ends the lease of rows whose message did not reach the broker, so that the next call of announceEvents repeats them.
 * Locks in id order.
 */
export async function releaseEvents(db: Db, tickets: readonly EventTicket[]): Promise<void> {
  await db.execute(sql`
    with held as materialized (
      select event.id
        from event_outbox as event
        join ${ticketRows(tickets)}
          on event.id = ticket.id and event.fence = ticket.fence
       where event.status = 'published'
       order by event.id
         for no key update of event
    )
    update event_outbox as event set lease_until = clock_timestamp() from held where event.id = held.id`);
}

/** How far the feed is behind: rows not decided yet, and the age of the oldest in seconds (0 when there is none). */
export async function outboxLag(db: Db): Promise<{ rows: number; oldestSeconds: number }> {
  const { rows } = await db.execute<{ rows: string; oldest: string | null }>(sql`
    select count(*) as rows, extract(epoch from app_now() - min(occurred_at)) as oldest from event_outbox where status <> 'dead'`);
  const [lag] = rows;
  return { rows: Number(lag?.rows ?? 0), oldestSeconds: Math.max(0, Number(lag?.oldest ?? 0)) };
}

/** How full PostgreSQL's queue of notifications is, 0 to 1: it fills up while a session that LISTENs is within a long transaction. */
export async function notifyQueueRatio(db: Db): Promise<number> {
  const { rows } = await db.execute<{ usage: number }>(sql`select pg_notification_queue_usage() as usage`);
  return Number(rows[0]?.usage ?? 0);
}

import { EVENT_TOPICS, type EventTopic, type Tenant } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { arrayLiteral, column } from '../batch.ts';
import type { Db, Tx } from '../open.ts';
import { given, statement } from '../statement.ts';
import { type EventTicket, type EventTicketRow, parseTicket } from './announce.ts';
import { EVENT_COLUMNS, type EventRow, type OutboxEvent, parseEvent } from './event.ts';
import { firstAhead, inOrder } from './in-order.ts';
import { ARCHIVED } from './take.ts';

/** What this build can decide: while a later one is rolled out, its new topics are left to it. */
const KNOWN_TOPICS = arrayLiteral(EVENT_TOPICS);

/** Events that a transaction took, not looked at yet. */
export interface TakenEvents {
  readonly ids: readonly string[];
  readonly topic: EventTopic;
  /** Whose they are, in the order of `ids`. */
  readonly tenants: readonly Tenant[];
  /** @throws PermanentError when one of them is not what its topic promises. */
  readonly read: () => OutboxEvent[];
}

/** Not announced, of no crowd, suspected of nothing, and known to this build. */
const IS_FRESH = sql`
  event.id >= ${given('from')}::bigint and event.status = 'pending' and not event.bulk and not event.alone and event.topic = any(${given('topics')}::text[])`;

/** Behind nothing older of the same person that goes through the queue: each is looked up, however many are announced. */
const IS_BEHIND_NO_QUEUE = sql`
  not exists (select from event_outbox as ahead
               where ahead.line_oa_id = event.line_oa_id and ahead.user_id = event.user_id and ahead.id < event.id
                 and (ahead.status = 'published' or ahead.bulk or ahead.alone) and ahead.status <> 'dead'
              offset 0)`;

/** The same, and behind nothing that is still to be taken straight from the outbox, or is being so. */
const IS_FIRST = sql`
  not exists (select from event_outbox as ahead
               where ahead.line_oa_id = event.line_oa_id and ahead.user_id = event.user_id and ahead.id < event.id and ahead.status <> 'dead'
              offset 0)`;

/**
 * pending -> gone, into event_archive, for the oldest events that nobody announced yet: of one topic, of whatever accounts. They were never
 * seen outside, so nobody else decides them, and when the transaction ends without a commit, nothing has happened. Crowds (`bulk`) and what must
 * be decided alone are left to the queue, and what another process is taking is skipped: this waits for nobody. Whatever is behind something older
 * of the same person that is undecided, and not taken with it, is left until that is decided.
 *
 * It comes before the locks of people, other than in {@link takeEvents}: nobody who holds a person waits for an event that is not announced.
 *
 * @param options.from The id from which on it looks.
 * @returns undefined: there was none.
 */
export async function takeFreshEvents(
  tx: Tx,
  { limit, from = '0' }: { limit: number; from?: string },
): Promise<TakenEvents | undefined> {
  const rows = await takeFresh(tx, { limit, from, topics: KNOWN_TOPICS });
  const [first] = rows;
  if (first === undefined) return undefined;
  const tenants = rows.map((row) => ({ organizationId: row.organization_id, lineOaId: row.line_oa_id }));
  return { ids: rows.map(({ id }) => id), topic: first.topic, tenants, read: () => rows.map(parseEvent) };
}

const takeFresh = statement<EventRow, { limit: number; from: string; topics: string }>(sql`
  with oldest as materialized (
    select topic from event_outbox as event where ${IS_FRESH} and ${IS_FIRST} order by id limit 1 for update skip locked
  ), held as materialized (
    select id, ctid, line_oa_id, user_id from event_outbox as event
     where ${IS_FRESH} and topic = (select topic from oldest) and ${IS_BEHIND_NO_QUEUE}
     order by id limit ${given('limit')} for update skip locked
  ), ahead as materialized (${firstAhead(sql`held`, sql`true`)}
  ), gone as (
    delete from event_outbox as event where event.ctid = any(${inOrder(sql`held`)}) returning event.*
  ), kept as (${ARCHIVED})
  select ${EVENT_COLUMNS}, replayed from gone order by id`);

/**
 * pending -> published for events that were taken by a transaction which failed: they are decided under the tickets that come back, by the
 * caller or, when the lease is over, by whoever hears of them.
 *
 * @param suspects Those that are to be decided alone.
 */
export async function claimEvents(
  db: Db,
  ids: readonly string[],
  { leaseSeconds, suspects }: { leaseSeconds: number; suspects: readonly string[] },
): Promise<EventTicket[]> {
  const { rows } = await db.execute<EventTicketRow>(sql`
    with held as materialized (
      select id from event_outbox where id = any(${column(ids, 'bigint')}) and status = 'pending' order by id for update
    )
    update event_outbox as event
       set status = 'published', fence = event.fence + 1, alone = event.alone or event.id = any(${column(suspects, 'bigint')}),
           lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
      from held where event.id = held.id
    returning event.id, event.fence, event.topic, event.organization_id, event.line_oa_id`);
  return rows.map(parseTicket);
}

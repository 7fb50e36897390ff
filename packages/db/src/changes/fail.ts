import type { TenantTicket, Ticket } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { column } from '../batch.ts';
import { type DeadHands, dropLeftInHand, leftInHand } from '../in-hand.ts';
import { type Db, inTransaction, type Tx } from '../open.ts';
import { statement } from '../statement.ts';
import { type TicketValues, ticketedEvents, ticketValues } from './ticketed.ts';

/** Failed decisions and deaths after which an event is dead. */
const MAX_ATTEMPTS = 20;
/** Processes that an event may kill while it is alone in their hand; one more death is of the batch that it came with. */
export const MAX_EVENT_RESCUES = 4;

/** An announced event, locked by the transaction that is about to decide it, or to give it up. */
export interface HeldEvent extends TenantTicket {
  readonly eventId: string;
  readonly rootId: string;
  readonly topic: string;
  readonly userId: string;
  /** How many processes died with this event alone in hand. */
  readonly rescueCount: number;
}

type HeldRow = {
  id: string;
  fence: string;
  organization_id: string;
  line_oa_id: string;
  event_id: string;
  root_id: string;
  topic: string;
  user_id: string;
  rescue_count: number;
};

/** Locks the announced rows whose fence and account are those of a ticket, in id order. */
export async function holdEvents(tx: Tx, tickets: readonly TenantTicket[]): Promise<HeldEvent[]> {
  const rows = await hold(tx, ticketValues(tickets));
  return rows.map((row) => ({
    id: row.id,
    fence: row.fence,
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
    eventId: row.event_id,
    rootId: row.root_id,
    topic: row.topic,
    userId: row.user_id,
    rescueCount: row.rescue_count,
  }));
}

const hold = statement<HeldRow, TicketValues>(sql`
  select event.id, event.fence, event.organization_id, event.line_oa_id, event_id, root_id, topic, user_id, rescue_count
    from ${ticketedEvents(sql`for update`)}`);

/**
 * Counts a failed decision of an event and leaves it for a while: 5 s · 2^n, at most 10 minutes; after 20 it is dead and
 * waits for a person. An event that was decided in the meantime is left alone. Returns whether it died of this.
 */
export async function failEvent(tx: Tx, { id, fence }: Ticket): Promise<boolean> {
  const { rows } = await tx.execute<{ status: string }>(sql`
    update event_outbox
       set attempts = attempts + 1,
           status = case when attempts + 1 >= ${MAX_ATTEMPTS} then 'dead' else status end,
           fence = fence + case when attempts + 1 >= ${MAX_ATTEMPTS} then 1 else 0 end,
           lease_until = case when attempts + 1 < ${MAX_ATTEMPTS}
                              then clock_timestamp() + least(interval '10 minutes', interval '5 seconds' * power(2, attempts)) end
     where id = ${id} and fence = ${fence} and status = 'published'
    returning status`);
  return rows[0]?.status === 'dead';
}

/** published -> dead: it is given up, whatever its count. False: it was decided in the meantime. */
export async function giveUpEvent(tx: Tx, { id, fence }: Ticket): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    update event_outbox set status = 'dead', fence = fence + 1, lease_until = null
     where id = ${id} and fence = ${fence} and status = 'published'`);
  return rowCount === 1;
}

/** From now on each of these events is decided alone, whatever its fence: it was in hand when a process may have died. */
export async function suspectEvents(db: Db | Tx, ids: readonly string[]): Promise<void> {
  await db.execute(sql`
    with held as materialized (
      select id from event_outbox where id = any(${column(ids, 'bigint')}) and status <> 'dead' and not alone order by id for update
    )
    update event_outbox as event set alone = true from held where event.id = held.id`);
}

/**
 * Writes down what dead processes had in hand: an event that was alone in one counts a death, and is announced again at
 * once under the same fence. Of several, none is accused. Returns how many deaths were counted.
 */
export async function recoverEventsInHand(db: Db, dead: DeadHands): Promise<number> {
  let deaths = 0;
  for (const left of await leftInHand(db, 'event', dead)) {
    deaths += await inTransaction(db, async (tx) => {
      const ids = column(left.ids, 'bigint');
      await tx.execute(sql`select from event_outbox where id = any(${ids}) order by id for update`);
      if (!(await dropLeftInHand(tx, left, { kind: 'event', dead }))) return 0;
      await suspectEvents(tx, left.ids);
      if (left.ids.length !== 1) return 0;
      const { rowCount } = await tx.execute(sql`
        update event_outbox
           set attempts = attempts + 1, rescue_count = rescue_count + 1,
               lease_until = case when status = 'published' then clock_timestamp() end
         where id = any(${ids}) and status <> 'dead'`);
      return rowCount ?? 0;
    });
  }
  return deaths;
}

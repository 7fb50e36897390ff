import type { Tenant, Ticket } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { ticketRows } from '../batch.ts';
import type { Tx } from '../open.ts';

/** A side that is left out was absent; `null` is JSON null, or a value too large to travel (over 4,096 characters). */
export interface AttributeChange {
  readonly from?: unknown;
  readonly to?: unknown;
}

/** One event, taken out of the outbox by the transaction that decides it. */
export interface OutboxEvent extends Tenant {
  readonly id: string;
  readonly eventId: string;
  readonly topic: string;
  readonly userId: string;
  /** By attribute name. */
  readonly changed: ReadonlyMap<string, AttributeChange>;
  readonly bulk: boolean;
  readonly causeId: string | null;
  readonly rootId: string;
  readonly depth: number;
  readonly traceparent: string | null;
}

type EventRow = {
  id: string;
  event_id: string;
  topic: string;
  organization_id: string;
  line_oa_id: string;
  user_id: string;
  payload: { changed?: Record<string, AttributeChange> };
  bulk: boolean;
  cause_id: string | null;
  root_id: string;
  depth: number;
  traceparent: string | null;
};

/**
 * published -> gone, into event_archive, for the rows of `tenant` whose fence still fits. Only what comes back may be
 * decided: a repeated or stale ticket has no row any more. Locks in id order, so that two messages never deadlock.
 * Events that a process may have died of are left: see {@link takeEventAlone}.
 */
export async function takeEvents(tx: Tx, tenant: Tenant, tickets: readonly Ticket[]): Promise<OutboxEvent[]> {
  return take(tx, tenant, { tickets, suspectsToo: false });
}

/** The same for one event, whatever its past: nothing else may be decided in this process meanwhile. */
export async function takeEventAlone(tx: Tx, tenant: Tenant, ticket: Ticket): Promise<OutboxEvent[]> {
  return take(tx, tenant, { tickets: [ticket], suspectsToo: true });
}

async function take(
  tx: Tx,
  tenant: Tenant,
  { tickets, suspectsToo }: { tickets: readonly Ticket[]; suspectsToo: boolean },
): Promise<OutboxEvent[]> {
  const { rows } = await tx.execute<EventRow>(sql`
    with held as materialized (
      select event.id
        from event_outbox as event
        join ${ticketRows(tickets)}
          on event.id = ticket.id and event.fence = ticket.fence
       where event.status = 'published'
         and event.organization_id = ${tenant.organizationId} and event.line_oa_id = ${tenant.lineOaId}
         and (not event.alone or ${suspectsToo})
       order by event.id
         for update of event
    ), gone as (
      delete from event_outbox as event using held where event.id = held.id returning event.*
    ), kept as (
      insert into event_archive (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at,
                                 cause_id, root_id, depth)
      select event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, cause_id, root_id, depth
        from gone
    )
    select id, event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, cause_id, root_id, depth, traceparent
      from gone order by id`);
  return rows.map(parseEvent);
}

function parseEvent(row: EventRow): OutboxEvent {
  return {
    id: row.id,
    eventId: row.event_id,
    topic: row.topic,
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
    userId: row.user_id,
    changed: new Map(Object.entries(row.payload.changed ?? {})), // a Map: attribute names such as __proto__ stay plain keys
    bulk: row.bulk,
    causeId: row.cause_id,
    rootId: row.root_id,
    depth: row.depth,
    traceparent: row.traceparent,
  };
}

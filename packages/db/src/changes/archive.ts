import type { EventTopic, Tenant } from '@dueline/contracts';
import { PermanentError } from '@dueline/kernel';
import { type SQL, sql } from 'drizzle-orm';
import type { Tx } from '../open.ts';
import { type EventRow, type OutboxEvent, parseEvent } from './event.ts';

/** An event that was decided. Its `id` is its `eventId`: the row of the outbox is gone. */
export interface ArchivedEvent {
  readonly event: OutboxEvent;
  /** When its transaction began, by product time: RFC 3339 in UTC with microseconds. */
  readonly decidedAt: string;
  /** The same in microseconds of the epoch. */
  readonly decidedMicros: number;
}

type ArchiveRow = EventRow & { decided_at: string; decided_micros: string };

const COLUMNS = sql`
  event_id::text as id, event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, cause_id, root_id, depth, null as traceparent,
  case when isfinite(occurred_at) then to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') end as happened,
  to_char(decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as decided_at,
  (extract(epoch from decided_at) * 1000000)::bigint as decided_micros`;

/** What cannot be read was decided by nobody. */
function parseArchived(row: ArchiveRow): ArchivedEvent[] {
  try {
    return [{ event: parseEvent(row), decidedAt: row.decided_at, decidedMicros: Number(row.decided_micros) }];
  } catch (error) {
    if (error instanceof PermanentError) return [];
    throw error;
  }
}

const ofTenant = ({ organizationId, lineOaId }: Tenant) =>
  sql`line_oa_id = ${lineOaId} and organization_id = ${organizationId}`;

/** A decided event of the account; undefined: the archive does not have it, or has it no more. */
export async function findArchived(tx: Tx, tenant: Tenant, eventId: string): Promise<ArchivedEvent | undefined> {
  const { rows } = await tx.execute<ArchiveRow>(
    sql`select ${COLUMNS} from event_archive where event_id = ${eventId} and ${ofTenant(tenant)}`,
  );
  return rows.flatMap(parseArchived)[0];
}

/** What happened to a person from one instant to another, those nearest to `at` first; by when it happened, whenever it was decided. */
export async function archivedNear(
  tx: Tx,
  tenant: Tenant,
  near: { userId: string; at: string; withinSeconds: number; limit: number },
): Promise<ArchivedEvent[]> {
  const { rows } = await tx.execute<ArchiveRow>(sql`
    select ${COLUMNS} from event_archive
     where ${ofTenant(tenant)} and user_id = ${near.userId}
       and decided_at >= ${near.at}::timestamptz - make_interval(secs => ${near.withinSeconds})
       and occurred_at between ${near.at}::timestamptz - make_interval(secs => ${near.withinSeconds})
                           and ${near.at}::timestamptz + make_interval(secs => ${near.withinSeconds})
     order by abs(extract(epoch from occurred_at - ${near.at}::timestamptz)), decided_at, event_id limit ${near.limit}`);
  return rows.flatMap(parseArchived);
}

/** Events of one topic. */
export interface EventsOf {
  readonly topic: EventTopic;
  /** Only those that tell of this attribute, form, link or name; null: all. */
  readonly key: string | null;
}

/** Which decided events: of some kinds, decided in [from, to). */
export interface ArchiveRange {
  readonly kinds: readonly EventsOf[];
  readonly from: string;
  readonly to: string;
}

const KEY_OF: Readonly<Partial<Record<EventTopic, (key: string) => SQL>>> = {
  attribute_changed: (key) => sql`payload -> 'changed' ? ${key}`,
  form_submitted: (key) => sql`payload ->> 'form_id' = ${key}`,
  campaign_click: (key) => sql`payload ->> 'tracked_link_id' = ${key}`,
  custom_event: (key) => sql`payload ->> 'name' = ${key}`,
};

function ofKind({ topic, key }: EventsOf): SQL {
  const ofKey = key === null ? undefined : KEY_OF[topic]?.(key);
  return ofKey === undefined ? sql`topic = ${topic}` : sql`(topic = ${topic} and ${ofKey})`;
}

/**
 * Decided events of an account, person by person and for each in the order in which they were decided, in batches of at most `size`; a batch may
 * end within a person. Read by the index in one pass, so that memory holds one batch, however many there are. The transaction must see one
 * state from begin to end, and may have one such stream open at a time.
 */
export async function* streamArchive(
  tx: Tx,
  tenant: Tenant,
  { size, ...range }: ArchiveRange & { readonly size: number },
): AsyncGenerator<ArchivedEvent[]> {
  await tx.execute(sql`
    declare archived no scroll cursor for
     select ${COLUMNS} from event_archive
      where ${ofTenant(tenant)} and decided_at >= ${range.from}::timestamptz and decided_at < ${range.to}::timestamptz
        and (${sql.join(range.kinds.map(ofKind), sql` or `)})
      order by user_id desc, event_archive.decided_at, recorded_at, event_id`);
  for (;;) {
    const { rows } = await tx.execute<ArchiveRow>(sql.raw(`fetch forward ${size} from archived`));
    if (rows.length > 0) yield rows.flatMap(parseArchived);
    if (rows.length < size) break;
  }
  await tx.execute(sql`close archived`);
}

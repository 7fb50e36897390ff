import { type SQL, sql } from 'drizzle-orm';
import type { Db } from './open.ts';

/** What the audit takes for too long, and how far it looks back. */
export interface AuditLimits {
  /** A lease may be over for so long before somebody has taken the row back, in seconds of process time: two reap intervals. */
  readonly leaseOverSeconds: number;
  /** A campaign may give no sign of life for so long before it is taken back, in seconds of process time. */
  readonly silentSeconds: number;
  /** Something due may wait for so long before it is claimed or announced, in seconds: the backlog that is normal. */
  readonly overdueSeconds: number;
  /** Ended rows are looked at for so long, in days of product time. */
  readonly historyDays: number;
}

/** A sentence about the data that must always be true. */
export interface Invariant {
  /** Stable; by it a report names the check. */
  readonly id: string;
  readonly says: string;
  /** A query with one text column `what`: a line for each row that offends. It reads, and locks nothing. */
  readonly offending: (limits: AuditLimits) => SQL;
}

export interface InvariantResult {
  readonly id: string;
  readonly says: string;
  readonly violations: number;
  /** The first twenty offenders. */
  readonly sample: readonly string[];
}

const SAMPLE = 20;

/** Checks each by one statement, one after the other. @throws TransientError when the database was not ready. */
export async function checkInvariants(
  db: Db,
  invariants: readonly Invariant[],
  limits: AuditLimits,
): Promise<InvariantResult[]> {
  const results: InvariantResult[] = [];
  for (const { id, says, offending } of invariants) {
    const { rows } = await db.execute<{ what: string; violations: string }>(sql`
      select what, count(*) over () as violations from (${offending(limits)}) as offending order by what limit ${SAMPLE}`);
    results.push({ id, says, violations: Number(rows[0]?.violations ?? 0), sample: rows.map(({ what }) => what) });
  }
  return results;
}

/** What must be true of the schema and of the outbox. */
export const DB_INVARIANTS: readonly Invariant[] = [
  {
    id: 'I14.event_outbox',
    says: 'an announced event whose lease is over is announced again or decided',
    offending: ({ leaseOverSeconds }) => sql`
      select format('event_outbox %s: lease over since %s', id, lease_until) as what from event_outbox
       where status = 'published' and lease_until < clock_timestamp() - make_interval(secs => ${leaseOverSeconds})`,
  },
  {
    id: 'I14.batch_in_hand',
    says: 'what a dead process had in hand is written down',
    offending: ({ leaseOverSeconds }) => sql`
      select format('batch_in_hand of %s: %s rows (%s), lease over since %s', claimed_by, cardinality(ids), kind, lease_until) as what
        from batch_in_hand where lease_until < clock_timestamp() - make_interval(secs => ${leaseOverSeconds})`,
  },
  {
    id: 'I15.event_outbox',
    says: 'what happened is announced soon',
    offending: ({ overdueSeconds }) => sql`
      select format('event_outbox %s: pending since %s', id, recorded_at) as what from event_outbox
       where status = 'pending' and recorded_at < clock_timestamp() - make_interval(secs => ${overdueSeconds})`,
  },
  {
    id: 'I17.event_outbox',
    says: 'no event is given up',
    offending: () => sql`
      select format('event_outbox %s: dead after %s failed decisions', id, attempts) as what from event_outbox where status = 'dead'`,
  },
  {
    id: 'I26',
    says: 'every time is stored with its zone',
    offending: () => sql`
      select format('%s.%s', table_name, column_name) as what from information_schema.columns
       where table_schema = 'public' and data_type = 'timestamp without time zone'`,
  },
];

import type { EventTopic, Tenant } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import type { Db, Tx } from '../open.ts';

/** Which decided events: what happened in [from, to), RFC 3339. */
export interface ReplayRange {
  readonly from: string;
  readonly to: string;
  /** Left out: of all topics. */
  readonly topic?: EventTopic | undefined;
}

/** Events of one account that were decided and are not in the outbox again. An event is decided after it happened, so older partitions are not read. */
const decided = ({ organizationId, lineOaId }: Tenant, { from, to, topic }: ReplayRange) => sql`
  select distinct on (event_id) *
    from event_archive as event
   where organization_id = ${organizationId} and line_oa_id = ${lineOaId}
     and occurred_at >= ${from}::timestamptz and occurred_at < ${to}::timestamptz
     and decided_at >= ${from}::timestamptz - interval '1 day' -- a writer's clock may be ahead
     and (${topic ?? null}::text is null or topic = ${topic ?? null}) and topic <> 'delivery_settled'
     and not exists (select from event_outbox as waiting where waiting.event_id = event.event_id)
   order by event_id, decided_at`;

/** How many events {@link replayEvents} would put back. */
export async function replayable(db: Db | Tx, tenant: Tenant, range: ReplayRange): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(sql`
    select count(*)::int as count from (${decided(tenant, range)}) as event`);
  return rows[0]?.count ?? 0;
}

/**
 * Puts decided events of an account back into the outbox, under their own ids, in the order in which they happened, to be decided once more
 * behind what happens now: by the rules and people as they are now. What such an event set off before it does not set off again, and no
 * wait, date or friend is touched. Of two calls at once each event is put back by one.
 *
 * @returns How many.
 */
export async function replayEvents(tx: Tx, tenant: Tenant, range: ReplayRange): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    insert into event_outbox (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, cause_id, root_id, depth, replayed)
    select event_id, topic, organization_id, line_oa_id, user_id, payload, true, occurred_at, cause_id, root_id, depth, true
      from (${decided(tenant, range)}) as event
     order by occurred_at, event_id
        on conflict (event_id) do nothing`);
  await tx.execute(sql`select notify_gated('event_outbox')`);
  return rowCount ?? 0;
}

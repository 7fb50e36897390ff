import type { Tenant } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { column } from '../batch.ts';
import type { Tx } from '../open.ts';

/**
 * dead -> pending for events of the account that were given up, for a person who has put right what kept them from being decided: with all their tries, and each
 * decided alone, in case one of them ends its process. What they were to set off is judged as things are now, and waits by when it happened.
 *
 * @returns Their ids; others are not dead, or not the account's.
 */
export async function retryEvents(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  { ids }: { ids: readonly string[] },
): Promise<string[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    with held as materialized (
      select id from event_outbox
       where id = any(${column(ids, 'bigint')}) and organization_id = ${organizationId} and line_oa_id = ${lineOaId} and status = 'dead'
       order by id
         for no key update
    )
    update event_outbox as event set status = 'pending', fence = event.fence + 1, attempts = 0, rescue_count = 0, alone = true
      from held where event.id = held.id
    returning event.id`);
  if (rows.length > 0) await tx.execute(sql`select notify_gated('event_outbox')`);
  return rows.map(({ id }) => id);
}

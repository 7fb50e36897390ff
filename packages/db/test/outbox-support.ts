import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { lineUserId } from '@dueline/db/testing';

/** An event as the outbox holds it. */
interface Event {
  readonly user_id: string;
  readonly changed: Record<string, { from?: unknown; to?: unknown }>;
  readonly bulk: boolean;
}

/** What the outbox holds of a tenant, in order. */
export async function eventsOf(db: Db, { lineOaId }: Tenant): Promise<Event[]> {
  const { rows } = await db.$client.query<Event>(
    `select user_id, payload -> 'changed' as changed, bulk from event_outbox where line_oa_id = $1 order by id`,
    [lineOaId],
  );
  return rows;
}

/** Replaces the attributes of user number `user`; text is taken as JSON. */
export const setAttributes = (db: Db, { lineOaId }: Tenant, attributes: unknown, user = 1) =>
  db.$client.query('update line_user set attributes = $3 where line_oa_id = $1 and user_id = $2', [
    lineOaId,
    lineUserId(user),
    typeof attributes === 'string' ? attributes : JSON.stringify(attributes),
  ]);

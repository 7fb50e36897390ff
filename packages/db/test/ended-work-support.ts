import type { Tenant } from '@dueline/contracts';
import { type Db, type Removal, removeEndedWork } from '@dueline/db';
import { columnOf, insertRow } from '@dueline/db/testing';
import { columnsOf } from './every-table.ts';

/** The instant so many days ago, as the database writes it. */
export async function daysAgo(db: Db, days: number): Promise<string> {
  const [at] = await columnOf(db, 'select (app_now() - make_interval(days => $1))::text', [days]);
  return String(at);
}

/** Work that ended more than so many days ago is old. */
export const OLD_DAYS = 300;

/** Removes, as the scheduler may, what ended more than `days` ago. */
export const remove = async (db: Db, { days = OLD_DAYS, ...how }: Partial<Removal> & { days?: number } = {}) =>
  removeEndedWork(db, {
    ...{ endedBefore: await daysAgo(db, days), mostRows: 1_000_000, pause: async () => undefined },
    ...how,
  });

interface ActionMade {
  readonly status: string;
  /** Days since it was made, and since it ended. */
  readonly made: number;
  readonly ended?: number;
  readonly dedupKey?: string;
}

/** An action as it stands some time after its end. */
export async function insertAction(
  db: Db,
  tenant: Tenant,
  { status, made, ended = made, dedupKey = crypto.randomUUID() }: ActionMade,
): Promise<string> {
  const hasEnded = ['done', 'failed', 'cancelled'].includes(status);
  const { id } = await insertRow(db, 'scheduled_action', {
    ...{
      ...columnsOf(tenant),
      user_id: 'U1',
      action_type: 'send_message',
      action_config: {},
      dedup_key: dedupKey,
      status,
    },
    ...{ execute_at: await daysAgo(db, ended), due_at: await daysAgo(db, ended), created_at: await daysAgo(db, made) },
    ...(hasEnded && { executed_at: await daysAgo(db, ended) }),
    ...(status === 'cancelled' && { cancel_reason: 'by_person' }),
    ...(status === 'processing' && { lease_until: await daysAgo(db, ended), claimed_by: 'w:1', claimed_via: 'queue' }),
  });
  return String(id);
}

interface DeliveryMade {
  readonly kind: 'action' | 'event' | 'test';
  readonly logicalId: string;
  readonly status: string;
  /** Days since it was accepted, or was worth sending last. */
  readonly ended: number;
  readonly ordinal?: number;
  readonly endpoint?: string;
}

/** A delivery with one attempt. */
export async function insertDelivery(
  db: Db,
  tenant: Tenant,
  { kind, logicalId, status, ended, ordinal = 0, endpoint = 'push' }: DeliveryMade,
): Promise<string> {
  const retryKey = crypto.randomUUID();
  const { id } = await insertRow(db, 'delivery', {
    ...{ ...columnsOf(tenant), kind, logical_id: logicalId, endpoint, ordinal, group_size: ordinal + 1, user_id: 'U1' },
    ...{ retry_key: retryKey, body: '{}', body_sha256: '', status, deliver_until: await daysAgo(db, ended - 1) },
    ...{ created_date: await daysAgo(db, ended + 1), next_attempt_at: await daysAgo(db, ended) },
    ...(kind === 'action' && { scheduled_action_id: logicalId }),
    ...(status === 'accepted' && { accepted_at: await daysAgo(db, ended) }),
    ...(status === 'sending' && { lease_until: await daysAgo(db, ended), claimed_by: 'w:1' }),
  });
  const attempt = { attempt_no: 1, fence: 1, claimed_by: 'w:1', retry_key: retryKey };
  await insertRow(db, 'delivery_attempt', { ...columnsOf(tenant), ...attempt, delivery_id: id });
  return String(id);
}

/** Many actions of one status at once, made and ended so many days ago. */
export async function insertManyActions(
  db: Db,
  { organizationId, lineOaId }: Tenant,
  { count, days, status = 'done' }: { count: number; days: number; status?: 'done' | 'pending' },
): Promise<void> {
  await db.$client.query(
    `insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, execute_at, due_at, created_at, executed_at,
                                   status, dedup_key)
     select $1, $2, 'U' || n, 'send_message', '{}', at, at, at, case when $5 = 'done' then at end, $5, gen_random_uuid()
       from generate_series(1, $3::int) as n cross join (select app_now() - make_interval(days => $4) as at) as moment`,
    [organizationId, lineOaId, count, days, status],
  );
}

/** The ids that are still there. */
export const left = (db: Db, table: 'scheduled_action' | 'delivery'): Promise<(string | null)[]> =>
  columnOf(db, `select id from ${table} order by id`);

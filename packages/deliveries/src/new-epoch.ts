import { column, type SQL, sql, type Tx } from '@dueline/db';
import { type LogicalSend, retryKey } from './retry-key.ts';
import { isFollowing } from './state.ts';

/** A row of the ledger with what its retry key is computed from. */
export type NamedRow = {
  id: string;
  group_size: number;
  waits: boolean;
  channel_id: string;
  kind: LogicalSend['kind'];
  logical_id: string;
  epoch: number;
  endpoint: LogicalSend['endpoint'];
  ordinal: number;
  split_path: string;
};

/**
 * Plans the rows that `which` names anew, in their next epoch and so under a key that LINE has never seen, due at once. What follows such
 * a row in its group, and waits for it or was cancelled because of it, goes along, and waits for it. Locks them in id order; at most `limit`
 * that are named. What is worth it, and until when, the caller says.
 *
 * @param options.which A condition over `delivery`.
 * @param options.skipLocked Leaves out what others hold, instead of waiting for it.
 * @returns The ids of all that it planned.
 */
export async function planInNextEpoch(
  tx: Tx,
  { which, limit, skipLocked }: { which: SQL; limit: number; skipLocked: boolean },
): Promise<string[]> {
  const { rows } = await tx.execute<NamedRow>(sql`
    select delivery.id, group_size, false as waits, account.channel_id, kind, logical_id, epoch, endpoint, ordinal, split_path
      from delivery join line_oa as account on account.id = delivery.line_oa_id
     where ${which}
     order by delivery.id limit ${limit}
       for no key update of delivery ${skipLocked ? sql`skip locked` : sql``}`);
  if (rows.length === 0) return [];
  const all = [...rows, ...(await followersOf(tx, rows))];
  await planAnew(tx, all);
  return all.map(({ id }) => id);
}

/** The parts that wait for one of these rows, directly or not, or were cancelled because of it. */
async function followersOf(tx: Tx, named: readonly NamedRow[]): Promise<NamedRow[]> {
  const followed = named.filter((row) => row.kind !== 'campaign' && row.ordinal + 1 < row.group_size);
  if (followed.length === 0) return [];
  const ids = column(
    followed.map(({ id }) => id),
    'bigint',
  );
  const { rows } = await tx.execute<NamedRow>(sql`
    select delivery.id, delivery.group_size, true as waits, account.channel_id, delivery.kind, delivery.logical_id, delivery.epoch,
           delivery.endpoint, delivery.ordinal, delivery.split_path
      from delivery as earlier
      join delivery on delivery.logical_id = earlier.logical_id and delivery.kind = earlier.kind and delivery.epoch = earlier.epoch
       and delivery.ordinal > earlier.ordinal and delivery.endpoint = earlier.endpoint and delivery.split_path = earlier.split_path
      join line_oa as account on account.id = delivery.line_oa_id
     where earlier.id = any(${ids}) and ${isFollowing}
     order by delivery.id
       for no key update of delivery`);
  return rows;
}

async function planAnew(tx: Tx, rows: readonly NamedRow[]): Promise<void> {
  const col = (read: (row: NamedRow) => string | number, type: 'bigint' | 'integer' | 'uuid') =>
    column(rows.map(read), type);
  await tx.execute(sql`
    update delivery
       set status = 'planned', epoch = renewed.epoch, retry_key = renewed.retry_key, fence = delivery.fence + 1, first_attempt_at = null,
           next_attempt_at = case when renewed.waits = 1 then 'infinity' else app_now() end, published_at = null, announce_count = 0, reason_code = null, updated_date = clock_timestamp()
      from unnest(${col(({ id }) => id, 'bigint')}, ${col(({ epoch }) => epoch + 1, 'integer')},
                  ${col((row) => retryKey(nextOf(row)), 'uuid')}, ${col(({ waits }) => Number(waits), 'integer')}) as renewed (id, epoch, retry_key, waits)
     where delivery.id = renewed.id`);
}

const nextOf = (row: NamedRow): LogicalSend => ({ ...sendOf(row), epoch: row.epoch + 1 });

/** The send that a row stands for. */
export const sendOf = (row: NamedRow): LogicalSend => ({
  channelId: row.channel_id,
  kind: row.kind,
  logicalId: row.logical_id,
  epoch: row.epoch,
  endpoint: row.endpoint,
  ordinal: row.ordinal,
  splitPath: row.split_path,
});

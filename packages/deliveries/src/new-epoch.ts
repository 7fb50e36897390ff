import { column, type SQL, sql, type Tx } from '@dueline/db';
import { type LogicalSend, retryKey } from './retry-key.ts';

/** A row of the ledger with what its retry key is computed from. */
export type NamedRow = {
  id: string;
  channel_id: string;
  kind: LogicalSend['kind'];
  logical_id: string;
  epoch: number;
  endpoint: LogicalSend['endpoint'];
  ordinal: number;
  split_path: string;
};

/**
 * Plans the rows that `which` names anew, in their next epoch and so under a key that LINE has never seen, due at once. Locks them in id
 * order; at most `limit`. What is worth it, and until when, the caller says.
 *
 * @param options.which A condition over `delivery`.
 * @param options.skipLocked Leaves out what others hold, instead of waiting for it.
 * @returns Their ids.
 */
export async function planInNextEpoch(
  tx: Tx,
  { which, limit, skipLocked }: { which: SQL; limit: number; skipLocked: boolean },
): Promise<string[]> {
  const { rows } = await tx.execute<NamedRow>(sql`
    select delivery.id, account.channel_id, kind, logical_id, epoch, endpoint, ordinal, split_path
      from delivery join line_oa as account on account.id = delivery.line_oa_id
     where ${which}
     order by delivery.id limit ${limit}
       for no key update of delivery ${skipLocked ? sql`skip locked` : sql``}`);
  if (rows.length === 0) return [];
  const col = (read: (row: NamedRow) => string | number, type: 'bigint' | 'integer' | 'uuid') =>
    column(rows.map(read), type);
  await tx.execute(sql`
    update delivery
       set status = 'planned', epoch = renewed.epoch, retry_key = renewed.retry_key, fence = delivery.fence + 1, first_attempt_at = null,
           next_attempt_at = app_now(), published_at = null, announce_count = 0, reason_code = null, updated_date = clock_timestamp()
      from unnest(${col(({ id }) => id, 'bigint')}, ${col(({ epoch }) => epoch + 1, 'integer')},
                  ${col((row) => retryKey(nextOf(row)), 'uuid')}) as renewed (id, epoch, retry_key)
     where delivery.id = renewed.id`);
  return rows.map(({ id }) => id);
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

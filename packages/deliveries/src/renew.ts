import { column, sql, type Tx } from '@dueline/db';
import { type LogicalSend, retryKey } from './retry-key.ts';
import { isInDoubt, RETRY_KEY_HOURS } from './state.ts';

type RenewableRow = {
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
 * planned -> planned in a new epoch, with a new retry key, for rows whose key may not be used any more (23 hours since their first
 * attempt), whose attempts reached nobody for sure, and which are still worth sending: LINE was away, or would not serve the account. A row
 * in doubt never gets a new key by itself. Returns how many; at most 500 a call.
 */
export async function renewDeliveries(tx: Tx): Promise<number> {
  const { rows } = await tx.execute<RenewableRow>(sql`
    select delivery.id, account.channel_id, kind, logical_id, epoch, endpoint, ordinal, split_path
      from delivery join line_oa as account on account.id = delivery.line_oa_id
     where delivery.status = 'planned' and first_attempt_at <= app_now() - make_interval(hours => ${RETRY_KEY_HOURS})
       and next_attempt_at <= app_now() and deliver_until > app_now()
       and not exists (select from delivery_attempt
                        where delivery_id = delivery.id and retry_key = delivery.retry_key and ${isInDoubt})
     order by delivery.id limit 500
       for no key update of delivery skip locked`);
  return renew(tx, rows);
}

async function renew(tx: Tx, rows: readonly RenewableRow[]): Promise<number> {
  if (rows.length === 0) return 0;
  const { rowCount } = await tx.execute(sql`
    update delivery
       set epoch = renewed.epoch, retry_key = renewed.retry_key, fence = delivery.fence + 1, first_attempt_at = null,
           next_attempt_at = app_now(), published_at = null, announce_count = 0, updated_date = clock_timestamp()
      from unnest(${column(
        rows.map(({ id }) => id),
        'bigint',
      )}, ${column(
        rows.map(({ epoch }) => epoch + 1),
        'integer',
      )}, ${column(
        rows.map((row) => retryKey(nextEpochOf(row))),
        'uuid',
      )}) as renewed (id, epoch, retry_key)
     where delivery.id = renewed.id`);
  return rowCount ?? 0;
}

const nextEpochOf = (row: RenewableRow): LogicalSend => ({
  channelId: row.channel_id,
  kind: row.kind,
  logicalId: row.logical_id,
  epoch: row.epoch + 1,
  endpoint: row.endpoint,
  ordinal: row.ordinal,
  splitPath: row.split_path,
});

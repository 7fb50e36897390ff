import { type Db, sql } from '@dueline/db';
import type { LogicalSend } from './retry-key.ts';

/** One earlier 400 of a send under its present key. */
export interface EarlierRefusal {
  readonly detail: string;
  /** Since it was written, in seconds of process time. */
  readonly secondsAgo: number;
  /** Whether it was of the whole request of which the send is a part. */
  readonly isOfWhole: boolean;
}

/** What LINE refused of a send before. */
export interface Refusals {
  /** Names the send; the name of a part begins with the name of what it is a part of, and no other name does. */
  readonly name: string;
  /** Of the send and, if it is a part, of the whole request; not of what lies between. Newest first. */
  readonly earlier: readonly EarlierRefusal[];
}

type Row = Pick<LogicalSend, 'kind' | 'epoch' | 'endpoint' | 'ordinal'> & {
  logical_id: string;
  split_path: string;
  detail: string | null;
  seconds_ago: number | null;
  is_of_whole: boolean;
};

/** What LINE answered with a 400 to a delivery before, and to the request that it is a part of. */
export async function loadRefusals(db: Db, { id }: { readonly id: string }): Promise<Refusals> {
  const { rows } = await db.execute<Row>(sql`
    select own.kind, own.logical_id, own.epoch, own.endpoint, own.ordinal, own.split_path, attempt.detail,
           extract(epoch from here.looked_at - attempt.finished_at)::float8 as seconds_ago, attempt.delivery_id <> own.id as is_of_whole
      from (select clock_timestamp() as looked_at) as here, delivery as own
      join delivery as asked on asked.logical_id = own.logical_id and asked.kind = own.kind and asked.epoch = own.epoch
       and asked.ordinal = own.ordinal and asked.endpoint = own.endpoint and asked.split_path in ('', own.split_path)
      left join delivery_attempt as attempt on attempt.delivery_id = asked.id and attempt.retry_key = asked.retry_key
       and attempt.outcome = 'refused' and attempt.http_status = 400
     where own.id = ${id}
     order by attempt.finished_at desc`);
  const [own] = rows;
  if (own === undefined) throw new Error(`there is no delivery ${id}`);
  return {
    name: [own.kind, own.logical_id, own.epoch, own.endpoint, own.ordinal, own.split_path].join('/'),
    earlier: rows.flatMap(({ detail, seconds_ago, is_of_whole }) =>
      seconds_ago === null ? [] : [{ detail: detail ?? '', secondsAgo: seconds_ago, isOfWhole: is_of_whole }],
    ),
  };
}

import { type Db, type SQL, sql } from '@dueline/db';

/** What becomes of people or requests of a campaign, by name: accepted, one of the other ends, or `open`. */
export interface ByEnd {
  /** LINE took the message for them, which is not to say that they received it. */
  readonly accepted: number;
  /** LINE takes the message, but not these people. */
  readonly invalid: number;
  /** LINE refused the request that they were in, for another reason. */
  readonly refused: number;
  /** Nobody can learn any more whether LINE took it. */
  readonly unknown: number;
  readonly expired: number;
  readonly cancelled: number;
  /** Not at their end. */
  readonly open: number;
}

/** Everybody whom a frozen campaign reaches, in numbers. */
export type CampaignResult = ByEnd;

/** Requests that ended alike, and for the same reason. */
export interface RequestCount {
  readonly end: keyof ByEnd;
  /** Null: there is nothing to explain. */
  readonly reasonCode: string | null;
  readonly requests: number;
  /** Null of a broadcast, whose people LINE alone knows. */
  readonly people: number | null;
  /** Of these requests; RFC 3339, product time. */
  readonly firstAttemptAt: string | null;
  readonly lastAcceptedAt: string | null;
}

/** What became of the row `delivery`: a name of {@link ByEnd}. */
export const endOfDelivery = sql`case when delivery.status in ('planned', 'sending') then 'open'
  when delivery.status = 'refused' and delivery.reason_code = 'invalid_recipient' then 'invalid' else delivery.status end`;

/** Counted from the requests, so it is right at any time; the parts of what was split count, not the whole. Nothing before the freeze. */
export const requestCounts = (campaignId: string): SQL => sql`
    with request as materialized (
      select ${endOfDelivery} as "end",
             case when status not in ('accepted', 'planned', 'sending') then reason_code end as "reasonCode",
             case when split_path = '' then user_count else jsonb_array_length(body::jsonb -> 'to') end as people,
             first_attempt_at, accepted_at
        from delivery join campaign_chunk as chunk using (campaign_id, chunk_no)
       where delivery.campaign_id = ${campaignId} and status <> 'split'
    )
    select "end", "reasonCode", count(*)::int as requests, sum(people)::int as people,
           min(first_attempt_at) as "firstAttemptAt", max(accepted_at) as "lastAcceptedAt"
      from request group by "end", "reasonCode" order by 1, 2`;

/** Of no request anything. */
export const NO_END: ByEnd = { accepted: 0, invalid: 0, refused: 0, unknown: 0, expired: 0, cancelled: 0, open: 0 };

/** So many of each end. */
export function sumByEnd(counts: readonly RequestCount[], of: 'people' | 'requests'): ByEnd {
  const sum = (end: keyof ByEnd) =>
    counts.filter((count) => count.end === end).reduce((total, count) => total + (count[of] ?? 0), 0);
  return {
    ...{ accepted: sum('accepted'), invalid: sum('invalid'), refused: sum('refused'), unknown: sum('unknown') },
    ...{ expired: sum('expired'), cancelled: sum('cancelled'), open: sum('open') },
  };
}

/**
 * Everybody whom a frozen campaign reaches is in one of these. Undefined of a broadcast, whose people LINE alone knows, and of what was not
 * frozen.
 */
export async function getCampaignResult(
  db: Db,
  { campaignId }: { campaignId: string },
): Promise<CampaignResult | undefined> {
  const { rows } = await db.execute<{ planned: number | null; ends: RequestCount[] }>(sql`
    select planned_count as planned, (select coalesce(json_agg(counted), '[]') from (${requestCounts(campaignId)}) as counted) as ends
      from campaign where id = ${campaignId}`);
  const [row] = rows;
  return row === undefined || row.planned === null ? undefined : sumByEnd(row.ends, 'people');
}

import { type Db, sql } from '@dueline/db';

/** What became of the people of a campaign, in numbers. `accepted` says that LINE took the message for them, not that they received it. */
export interface CampaignResult {
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

/**
 * Everybody whom a frozen campaign reaches is in one of these. Undefined of a broadcast, whose people LINE alone knows, and of what was not
 * frozen. Counted from the requests, so it is right at any time.
 */
export async function getCampaignResult(
  db: Db,
  { campaignId }: { campaignId: string },
): Promise<CampaignResult | undefined> {
  const { rows } = await db.execute<{ [end in keyof CampaignResult]: number } & { planned: number | null }>(sql`
    with request as materialized (
      select status, reason_code, case when split_path = '' then user_count else jsonb_array_length(body::jsonb -> 'to') end as people
        from delivery join campaign_chunk as chunk using (campaign_id, chunk_no)
       where delivery.campaign_id = ${campaignId} and status <> 'split'
    )
    select (select planned_count from campaign where id = ${campaignId}) as planned,
           ${people(sql`status = 'accepted'`)} as accepted,
           ${people(sql`status = 'refused' and reason_code = 'invalid_recipient'`)} as invalid,
           ${people(sql`status = 'refused' and reason_code is distinct from 'invalid_recipient'`)} as refused,
           ${people(sql`status = 'unknown'`)} as unknown, ${people(sql`status = 'expired'`)} as expired,
           ${people(sql`status = 'cancelled'`)} as cancelled, ${people(sql`status in ('planned', 'sending')`)} as open
      from request`);
  const [row] = rows;
  if (row === undefined || row.planned === null) return undefined;
  const { planned: _, ...result } = row;
  return result;
}

const people = (isThose: ReturnType<typeof sql>) => sql`coalesce(sum(people) filter (where ${isThose}), 0)::integer`;

import { type CampaignStatus, type CastType, lineUserId, type Tenant } from '@dueline/contracts';
import { type Db, inTenant, sql, type Tx } from '@dueline/db';
import { parse } from './definition.ts';

/**
 * Why somebody is in no request of a campaign that was frozen, or would be in none if it were now. `stranger`: no person of this account;
 * `excluded`: named, or in an audience that is left out; `joined_later`: in the audience only since the start; `blocked`: no friend;
 * `not_then`: all is well now, so at the start they were no friend, or in an excluded audience that they have left since.
 */
export type LeftOut = 'stranger' | 'excluded' | 'not_in_audience' | 'joined_later' | 'blocked' | 'not_then';

/** One attempt at LINE. Instants are RFC 3339; `startedAt` is process time. */
export interface PersonAttempt {
  readonly attemptNo: number;
  readonly retryKey: string;
  readonly startedAt: string;
  /** Null: nobody learned how it ended. */
  readonly outcome: string | null;
  readonly httpStatus: number | null;
  readonly lineRequestId: string | null;
}

/** The request that somebody is in. */
export interface PersonRequest {
  readonly chunkNo: number;
  /** Which part of a request that was split; empty: a whole one. */
  readonly splitPath: string;
  readonly endpoint: string;
  readonly status: string;
  readonly reasonCode: string | null;
  readonly retryKey: string;
  readonly acceptedAt: string | null;
  readonly lineRequestId: string | null;
  /** LINE's id of the request that it had accepted before, when it told so of a repeated key. */
  readonly lineAcceptedRequestId: string | null;
  readonly attempts: readonly PersonAttempt[];
}

/** What became of one person of a campaign. */
export interface PersonAnswer {
  readonly campaignId: string;
  readonly userId: string;
  readonly status: CampaignStatus;
  readonly castType: CastType;
  /**
   * `accepted`: LINE took the message for them, which does not say that they received it; `invalid`: LINE takes the message, but not this
   * person; `refused`, `unknown`, `expired`, `cancelled`: what became of their request; `open`: it is not at its end; `left_out`: they are in
   * none; `not_started`: nobody is, yet.
   */
  readonly outcome:
    | 'accepted'
    | 'invalid'
    | 'refused'
    | 'unknown'
    | 'expired'
    | 'cancelled'
    | 'open'
    | 'left_out'
    | 'not_started';
  /** Of who is left out, and of who would be if it started now. */
  readonly why: LeftOut | null;
  /** Whether they are a friend now, as far as we know. LINE brings nothing to others, of which it tells nobody. */
  readonly isFriend: boolean;
  readonly request: PersonRequest | null;
}

/**
 * What became of one person of a campaign: from its chunks, which are in the order of their people, and the ledger; a million people have no
 * row each. Undefined when the account has no such campaign.
 *
 * @throws PermanentError when `userId` is not one of LINE's.
 */
export async function findPerson(
  db: Db,
  tenant: Tenant,
  { campaignId, userId: asked }: { campaignId: string; userId: string },
): Promise<PersonAnswer | undefined> {
  const userId = parse('person', lineUserId, asked);
  return inTenant(db, tenant, async (tx) => {
    const facts = await readFacts(tx, tenant, { campaignId, userId });
    if (facts === undefined) return undefined;
    const { status, cast_type: castType, is_frozen: isFrozen, is_friend: isFriend } = facts;
    const known = { campaignId, userId, status, castType, isFriend };
    const leftOut = { ...known, why: whyLeftOut(facts), request: null };
    if (!isFrozen) return { ...leftOut, outcome: 'not_started' };
    const chunkNo = await findChunk(tx, { campaignId, userId });
    if (chunkNo === undefined) return { ...leftOut, why: leftOut.why ?? 'not_then', outcome: 'left_out' };
    const request = await readRequest(tx, tenant, { campaignId, userId, chunkNo });
    return { ...known, outcome: outcomeOf(request), why: null, request };
  });
}

type Facts = {
  status: CampaignStatus;
  cast_type: CastType;
  is_frozen: boolean;
  is_person: boolean;
  is_friend: boolean;
  is_blocked_since: boolean;
  is_named: boolean;
  is_listed: boolean;
  is_member: boolean;
  is_later: boolean;
};

type Asked = { readonly campaignId: string; readonly userId: string };

async function readFacts(tx: Tx, tenant: Tenant, { campaignId, userId }: Asked): Promise<Facts | undefined> {
  const { rows } = await tx.execute<Facts>(sql`
    select status, cast_type, frozen_at is not null as is_frozen, person.user_id is not null as is_person,
           coalesce(is_following, false) as is_friend, coalesce(blocked_at > frozen_at, false) as is_blocked_since,
           ${userId} = any(excluded_user_ids) as is_named,
           exists (select from audience_member as other
                    where other.audience_id = any(excluded_audience_ids) and other.user_id = ${userId}
                      and (frozen_at is null or other.created_date <= frozen_at)) as is_listed,
           member.user_id is not null as is_member, coalesce(member.created_date > frozen_at, false) as is_later
      from campaign
      left join line_user as person on person.line_oa_id = campaign.line_oa_id and person.user_id = ${userId}
      left join audience_member as member on member.audience_id = campaign.audience_id and member.user_id = ${userId}
     where campaign.id = ${campaignId} and campaign.line_oa_id = ${tenant.lineOaId} and campaign.organization_id = ${tenant.organizationId}`);
  return rows[0];
}

/** Pure; null: nothing speaks against them now. */
function whyLeftOut(facts: Facts): LeftOut | null {
  if (!facts.is_person) return 'stranger';
  if (facts.cast_type === 'broadcast') return facts.is_friend ? null : 'blocked';
  if (facts.is_named) return 'excluded';
  if (!facts.is_member) return 'not_in_audience';
  if (facts.is_later) return 'joined_later';
  if (facts.is_listed) return 'excluded';
  return facts.is_friend || facts.is_blocked_since ? null : 'blocked';
}

/** Halves the chunks until one is left: eleven of two thousand are looked into, each found by its key (a join would read all). A broadcast has one, without people. */
async function findChunk(tx: Tx, { campaignId, userId }: Asked): Promise<number | undefined> {
  const { rows } = await tx.execute<{ chunk_no: number }>(sql`
    with recursive search (low, high) as (
      select 0, (select max(chunk_no) from campaign_chunk where campaign_id = ${campaignId})
      union all
      select case when is_here_or_above then place.middle else low end, case when is_here_or_above then high else place.middle - 1 end
        from search
       cross join lateral (select (low + high + 1) / 2 as middle) as place
       cross join lateral (
         select (select chunk.user_ids[1] from campaign_chunk as chunk
                  where chunk.campaign_id = ${campaignId} and chunk.chunk_no = place.middle) <= ${userId} collate "C" as is_here_or_above
         offset 0) as compared
       where low < high
    )
    select chunk_no from campaign_chunk
     where campaign_id = ${campaignId} and chunk_no = (select low from search where low = high)
       and (user_ids is null or ${userId} = any(user_ids))`);
  return rows[0]?.chunk_no;
}

type RequestRow = { [key in keyof PersonRequest]: PersonRequest[key] };

/** Of a request that was split, the part that they are in. */
async function readRequest(
  tx: Tx,
  tenant: Tenant,
  { campaignId, userId, chunkNo }: Asked & { chunkNo: number },
): Promise<PersonRequest> {
  const { rows } = await tx.execute<RequestRow>(sql`
    select chunk_no as "chunkNo", split_path as "splitPath", endpoint, status, reason_code as "reasonCode", retry_key as "retryKey",
           to_json(accepted_at) #>> '{}' as "acceptedAt", line_request_id as "lineRequestId",
           line_accepted_request_id as "lineAcceptedRequestId",
           (select coalesce(json_agg(json_build_object(
                     'attemptNo', attempt_no, 'retryKey', attempt.retry_key, 'startedAt', started_at, 'outcome', outcome,
                     'httpStatus', http_status, 'lineRequestId', attempt.line_request_id) order by attempt_no), '[]')
              from delivery_attempt as attempt where attempt.delivery_id = delivery.id) as attempts
      from delivery
     where logical_id = ${campaignId} and kind = 'campaign' and ordinal = ${chunkNo}
       and line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId}
       and status <> 'split' and (split_path = '' or (body::jsonb -> 'to') @> to_jsonb(${userId}::text))
     order by length(split_path) desc limit 1`);
  const [request] = rows;
  if (request === undefined) throw new Error(`chunk ${chunkNo} of campaign ${campaignId} has no request`);
  return request;
}

function outcomeOf({ status, reasonCode }: PersonRequest): PersonAnswer['outcome'] {
  if (status === 'refused') return reasonCode === 'invalid_recipient' ? 'invalid' : 'refused';
  if (status === 'accepted' || status === 'unknown' || status === 'expired' || status === 'cancelled') return status;
  return 'open';
}

import type { CampaignStatus, CastType, Tenant, TextMessage } from '@dueline/contracts';
import { column, type Db, inTenant, sql } from '@dueline/db';
import { type ByEnd, endOfDelivery, NO_END } from './result.ts';
import { type CampaignStanding, campaignStanding } from './standing.ts';

/** A campaign as people see it. Instants are RFC 3339, product time. */
export interface CampaignView {
  readonly id: string;
  /** What a change names to say that it was decided on this view. */
  readonly fence: string;
  readonly name: string;
  readonly status: CampaignStatus;
  /** The one word for how it stands. */
  readonly standing: CampaignStanding;
  readonly reasonCode: string | null;
  /** Somebody cancelled it, and what is on its way or in doubt is waited for; null: nobody has. */
  readonly cancelRequestedAt: string | null;
  readonly castType: CastType;
  readonly audienceId: string | null;
  readonly startDate: string | null;
  readonly notAfter: string | null;
  readonly confirmedCount: number | null;
  /** People whom the freeze wrote down; null: not frozen, or a broadcast, whose people LINE alone knows. */
  readonly plannedCount: number | null;
  readonly frozenAt: string | null;
  readonly sentAt: string | null;
  readonly createdDate: string;
  readonly deletedDate: string | null;
  /** Requests that are at LINE now. */
  readonly inFlight: number;
  /** Requests that have not been made, or whose fate is being asked for. */
  readonly waiting: number;
}

/** One campaign whole. */
export interface CampaignDetail extends CampaignView {
  readonly messages: readonly TextMessage[];
  /** Requests by the status of their delivery; a request that was split counts as `split`, and so do its parts for themselves. */
  readonly requests: Readonly<Record<string, number>>;
}

export interface CampaignPage {
  readonly campaigns: readonly CampaignView[];
  /** What `after` is to be for the next page; null: there is none. */
  readonly next: string | null;
}

const view = sql`
  campaign.id, campaign.fence, campaign.name, campaign.status, campaign.reason_code as "reasonCode",
  to_json(cancel_requested_at) #>> '{}' as "cancelRequestedAt", cast_type as "castType", audience_id as "audienceId",
  to_json(start_date) #>> '{}' as "startDate", to_json(not_after) #>> '{}' as "notAfter", confirmed_count as "confirmedCount",
  planned_count as "plannedCount", to_json(frozen_at) #>> '{}' as "frozenAt", to_json(sent_at) #>> '{}' as "sentAt",
  to_json(campaign.created_date) #>> '{}' as "createdDate",
  to_json(campaign.deleted_date) #>> '{}' as "deletedDate"`;

type ViewRow = { [key in Exclude<keyof CampaignView, 'standing'>]: CampaignView[key] } & {
  account: string;
  ends: Partial<ByEnd>;
};

/** The account of a campaign, and what became of its requests: what says how it stands. */
const facts = sql`
  join line_oa on line_oa.id = campaign.line_oa_id
  join organization on organization.id = campaign.organization_id
 cross join lateral (
   select coalesce(jsonb_object_agg("end", count), '{}') as ends
     from (select ${endOfDelivery} as "end", count(*) from delivery where campaign_id = campaign.id and status <> 'split' group by 1) as by_end) as ended`;
const account = sql`case when line_oa.stopped_at is not null or organization.stopped_at is not null then 'stopped' else line_oa.status end as account, ends`;

function viewOf<Row extends ViewRow>({ account, ends, ...row }: Row) {
  const isFrozen = row.frozenAt !== null;
  const isCancelled = row.cancelRequestedAt !== null;
  const { status, reasonCode } = row;
  const requests = { ...NO_END, ...ends };
  return { ...row, standing: campaignStanding({ status, reasonCode, isFrozen, isCancelled, account, requests }) };
}

/**
 * Campaigns of an account, the newest first, without the deleted ones.
 *
 * @param options.statuses Only those in one of these; all when not given.
 * @param options.after Id of the last campaign of the page before.
 * @param options.limit Campaigns per page, 1 to 500.
 */
export async function listCampaigns(
  db: Db,
  tenant: Tenant,
  {
    statuses,
    after,
    limit,
  }: { statuses?: readonly CampaignStatus[] | undefined; after?: string | undefined; limit: number },
): Promise<CampaignPage> {
  const isChosen = statuses === undefined ? sql`true` : sql`campaign.status = any(${column(statuses, 'text')})`;
  const isBehind = after === undefined ? sql`true` : sql`campaign.id < ${after}`;
  const { rows } = await inTenant(db, tenant, (tx) =>
    tx.execute<ViewRow>(sql`
      select ${view}, ${account}, requests.* from campaign ${facts}
       cross join lateral (
         select count(*) filter (where status = 'sending')::int as "inFlight", count(*) filter (where status = 'planned')::int as waiting
           from delivery where campaign_id = campaign.id and status in ('planned', 'sending')) as requests
       where campaign.deleted_date is null and campaign.line_oa_id = ${tenant.lineOaId} and ${isChosen} and ${isBehind}
       order by campaign.id desc limit ${limit + 1}`),
  );
  const campaigns = rows.slice(0, limit).map(viewOf);
  return { campaigns, next: rows.length > campaigns.length ? (campaigns.at(-1)?.id ?? null) : null };
}

/** One campaign of an account, also when it is deleted; undefined: the account has none of this id. */
export async function showCampaign(db: Db, tenant: Tenant, id: string): Promise<CampaignDetail | undefined> {
  const { rows } = await inTenant(db, tenant, (tx) =>
    tx.execute<ViewRow & Pick<CampaignDetail, 'messages' | 'requests'>>(sql`
      select ${view}, ${account}, messages, requests.counts as requests,
             coalesce((requests.counts ->> 'sending')::int, 0) as "inFlight",
             coalesce((requests.counts ->> 'planned')::int, 0) as waiting
        from campaign ${facts}
       cross join lateral (
         select coalesce(jsonb_object_agg(status, count), '{}') as counts
           from (select status, count(*) from delivery where campaign_id = campaign.id group by status) as by_status) as requests
       where campaign.id = ${id} and campaign.line_oa_id = ${tenant.lineOaId}`),
  );
  return rows[0] && viewOf(rows[0]);
}

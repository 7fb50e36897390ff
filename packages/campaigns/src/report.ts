import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, refuseIf, sql } from '@dueline/db';
import { type ByEnd, type RequestCount, requestCounts, sumByEnd } from './result.ts';
import { type CampaignFacts, type CampaignStanding, campaignStanding } from './standing.ts';

/** What came of a campaign so far, all of one moment. Instants are RFC 3339, of product time. */
export interface CampaignReport {
  /** The one word for how it stands. */
  readonly standing: CampaignStanding;
  /** Null of a broadcast, whose people LINE alone knows, and before the freeze. */
  readonly people: ByEnd | null;
  readonly requests: ByEnd;
  /** What became of the requests, and why. */
  readonly ends: readonly RequestCount[];
  readonly firstAttemptAt: string | null;
  readonly lastAcceptedAt: string | null;
}

type CampaignRow = Omit<CampaignFacts, 'requests'> & {
  readonly plannedCount: number | null;
  readonly ends: readonly RequestCount[];
};

/**
 * What came of a campaign of the account; undefined: it has none of this id.
 *
 * @throws PermanentError when the id is none.
 */
export async function getCampaignReport(
  db: Db,
  tenant: Tenant,
  { campaignId }: { campaignId: string },
): Promise<CampaignReport | undefined> {
  const { rows } = await refuseIf({ '22P02': 'this is not the id of a campaign' }, () =>
    inTenant(db, tenant, (tx) =>
      tx.execute<{ [column in keyof CampaignRow]: CampaignRow[column] }>(sql`
        select campaign.status, campaign.reason_code as "reasonCode", frozen_at is not null as "isFrozen",
               cancel_requested_at is not null as "isCancelled", planned_count as "plannedCount",
               case when line_oa.stopped_at is not null or organization.stopped_at is not null then 'stopped' else line_oa.status end as account,
               (select coalesce(json_agg(counted), '[]') from (${requestCounts(campaignId)}) as counted) as ends
          from campaign
          join line_oa on line_oa.id = campaign.line_oa_id
          join organization on organization.id = line_oa.organization_id
         where campaign.id = ${campaignId} and campaign.line_oa_id = ${tenant.lineOaId}`),
    ),
  );
  const [row] = rows;
  return row && reportOf(row);
}

function reportOf({ plannedCount, ends, ...facts }: CampaignRow): CampaignReport {
  const requests = sumByEnd(ends, 'requests');
  return {
    standing: campaignStanding({ ...facts, requests }),
    people: plannedCount === null ? null : sumByEnd(ends, 'people'),
    ...{ requests, ends },
    firstAttemptAt: ends.map((end) => end.firstAttemptAt).reduce(earlier, null),
    lastAcceptedAt: ends.map((end) => end.lastAcceptedAt).reduce(later, null),
  };
}

/** Of instants whose text PostgreSQL wrote in one zone; null: none yet. */
const earlier = (one: string | null, other: string | null) =>
  one === null || (other !== null && Date.parse(other) < Date.parse(one)) ? other : one;
const later = (one: string | null, other: string | null) =>
  one === null || (other !== null && Date.parse(other) > Date.parse(one)) ? other : one;

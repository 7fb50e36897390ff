import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, refuseIf, sql } from '@dueline/db';

/** Clicks by people, each once however often it was reported, and whenever it came; robots and previews do not count. */
export interface ClickCount {
  readonly clicks: number;
  /** How many different people are known to have clicked. Who clicked a forwarded link is one of them, recipient or not. */
  readonly people: number;
  /** Of `clicks`, those of nobody known: between one and so many people more. */
  readonly byUnknown: number;
}

export interface LinkClicks extends ClickCount {
  readonly trackedLinkId: string;
  readonly name: string;
  readonly url: string;
}

/** The clicks on the links of a campaign: of all together, in which a person counts once, and of each link, in the order of their ids. */
export interface CampaignClicks extends ClickCount {
  readonly links: readonly LinkClicks[];
}

type CountRow = {
  tracked_link_id: string | null;
  name: string;
  url: string;
  clicks: number;
  people: number;
  by_unknown: number;
};

/**
 * Who clicked what of a campaign, counted from the clicks, so it is right at any time. What counts is the code under which the campaign
 * carries a link: a click that is recorded by link and person alone names no campaign and is none of these.
 */
export async function countCampaignClicks(
  db: Db,
  tenant: Tenant,
  { campaignId }: { campaignId: string },
): Promise<CampaignClicks> {
  // One person at a time in the order of the index: the clicks themselves are neither sorted nor kept.
  const counts = sql`
    with issued as materialized (select id, tracked_link_id from link_issue where campaign_id = ${campaignId}),
    person as materialized (
      select tracked_link_id, click.user_id, click.clicks
        from issued cross join lateral (
          select user_id, count(*) as clicks from link_click where link_issue_id = issued.id and not is_robot group by user_id) as click
    ), counted as (
      select tracked_link_id, sum(clicks) as clicks, count(distinct user_id) as people, sum(clicks) filter (where user_id is null) as by_unknown
        from person group by rollup (tracked_link_id)
    )
    select link.id as tracked_link_id, link.name, link.url, coalesce(clicks, 0)::int as clicks, coalesce(people, 0)::int as people,
           coalesce(by_unknown, 0)::int as by_unknown
      from issued join tracked_link as link on link.id = issued.tracked_link_id left join counted using (tracked_link_id)
     union all
    select null, '', '', coalesce(clicks, 0)::int, people::int, coalesce(by_unknown, 0)::int from counted where tracked_link_id is null
     order by tracked_link_id`;
  return refuseIf({ '22P02': 'no such campaign in this account' }, () =>
    inTenant(db, tenant, async (tx) => {
      const { rows } = await tx.execute<CountRow>(counts);
      const all = rows.find(({ tracked_link_id }) => tracked_link_id === null);
      const links = rows.flatMap(({ tracked_link_id: trackedLinkId, name, url, ...counted }) =>
        trackedLinkId === null ? [] : [{ trackedLinkId, name, url, ...countOf(counted) }],
      );
      return { ...countOf(all), links };
    }),
  );
}

const countOf = (row: Pick<CountRow, 'clicks' | 'people' | 'by_unknown'> | undefined): ClickCount => ({
  clicks: row?.clicks ?? 0,
  people: row?.people ?? 0,
  byUnknown: row?.by_unknown ?? 0,
});

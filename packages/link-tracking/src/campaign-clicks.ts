import type { Tenant } from '@dueline/contracts';
import { type Db, refuseIf, sql } from '@dueline/db';

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
  // Each link person by person in the order of its index, which keeps and sorts nothing; who is behind several links is a look of its own.
  // The account is named of the links, and so it is that of their clicks: row level security would fetch each row of a million to see it.
  const counts = sql`
    with issued as materialized (
      select id, tracked_link_id from link_issue
       where campaign_id = ${campaignId} and organization_id = ${tenant.organizationId} and line_oa_id = ${tenant.lineOaId}
    ),
    counted as materialized (
      select tracked_link_id, click.* from issued cross join lateral (
        select coalesce(sum(clicks), 0) as clicks, count(user_id) as people, coalesce(sum(clicks) filter (where user_id is null), 0) as by_unknown
          from (select user_id, count(*) as clicks from link_click where link_issue_id = issued.id and not is_robot group by user_id) as person
        ) as click
    ), everybody as (
      select distinct user_id from issued join link_click on link_issue_id = issued.id and not is_robot and user_id is not null
       where (select count(*) from counted where people > 0) > 1
    )
    select link.id as tracked_link_id, link.name, link.url, clicks::int, people::int, by_unknown::int
      from counted join tracked_link as link on link.id = counted.tracked_link_id
     union all
    select null, '', '', coalesce(sum(clicks), 0)::int, greatest(max(people), (select count(*) from everybody))::int,
           coalesce(sum(by_unknown), 0)::int
      from counted
     order by tracked_link_id`;
  const { rows } = await refuseIf({ '22P02': 'no such campaign in this account' }, () => db.execute<CountRow>(counts));
  const all = rows.find(({ tracked_link_id }) => tracked_link_id === null);
  const links = rows.flatMap(({ tracked_link_id: trackedLinkId, name, url, ...counted }) =>
    trackedLinkId === null ? [] : [{ trackedLinkId, name, url, ...countOf(counted) }],
  );
  return { ...countOf(all), links };
}

const countOf = (row: Pick<CountRow, 'clicks' | 'people' | 'by_unknown'> | undefined): ClickCount => ({
  clicks: row?.clicks ?? 0,
  people: row?.people ?? 0,
  byUnknown: row?.by_unknown ?? 0,
});

import { getCampaignReport } from '@dueline/campaigns';
import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';
import { countCampaignClicks, createTrackedLink, issueCampaignLink } from '@dueline/link-tracking';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant } from '../measure/rounds.ts';
import type { Stage } from '../product/stage.ts';
import type { Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const PEOPLE = 1_000_000;
const CLICKS = 1_000_000;
const CHUNK = 500;
const LINKS = 5;
/** A look is what a person waits for: the middle one of so many. */
const LOOKS = 5;
const ONE_LINK = 'clicks of a campaign with one link';
const MANY_LINKS = 'clicks of a campaign with five links';
const REPORT = 'what became of its people';

export const resultsScenario: Scenario = {
  name: 'results',
  brief: 'the results of a campaign to a million people with a million clicks',
  hasPeers: false,
  what: 'A look at the results of a campaign, counted from the rows each time: a million clicks by 700,000 different people on one link, the same on five links (who clicked several counts once in all), each beside the other’s million; and a million people in 2,000 requests by what became of them. The figure is the middle one of five looks.',
  expectations: [ONE_LINK, MANY_LINKS, REPORT].map((of) => ({
    ...{ what: `${of}: milliseconds`, of, figure: 'look ms', better: 'lower', floor: 2_000, goal: 500 },
  })),
  run: (stage, options) =>
    withProduct(stage, { ...options, name: 'results' }, async ({ database: { db }, accounts: [tenant] }) => {
      if (tenant === undefined) throw new Error('there is no account');
      const counts = { people: Math.round(PEOPLE * options.scale), clicks: Math.round(CLICKS * options.scale) };
      const [one, many] = [await campaign(db, tenant, counts.people), await campaign(db, tenant, counts.people)];
      await click(db, tenant, { campaignId: one, links: 1, clicks: counts.clicks });
      await click(db, tenant, { campaignId: many, links: LINKS, clicks: counts.clicks });
      await db.$client.query('vacuum analyze link_click, delivery, campaign_chunk');
      const clicksOf = async (campaignId: string) => (await countCampaignClicks(db, tenant, { campaignId })).clicks;
      const peopleOf = async (campaignId: string) =>
        (await getCampaignReport(db, tenant, { campaignId }))?.people?.accepted ?? 0;
      return [
        contestant(stage, { name: ONE_LINK, rows: counts.clicks, look: () => clicksOf(one) }),
        contestant(stage, { name: MANY_LINKS, rows: counts.clicks, look: () => clicksOf(many) }),
        contestant(stage, { name: REPORT, rows: counts.people, look: () => peopleOf(one) }),
      ];
    }),
};

/** A campaign of which LINE took every request. */
async function campaign(db: Db, tenant: Tenant, people: number): Promise<string> {
  const { rows } = await db.execute<{ id: string }>(sql`
    insert into campaign (organization_id, line_oa_id, name, cast_type, status, frozen_at, planned_count)
    values (${tenant.organizationId}, ${tenant.lineOaId}, 'bench', 'multicast', 'draft', app_now(), ${people}) returning id`);
  const id = rows[0]?.id ?? '';
  await db.execute(sql`
    with chunk as (
      insert into campaign_chunk (campaign_id, chunk_no, organization_id, line_oa_id, user_ids, user_count)
      select ${id}, n, ${tenant.organizationId}, ${tenant.lineOaId},
             (select array_agg('U' || md5((n * ${CHUNK}::int + m)::text)) from generate_series(1, ${CHUNK}::int) as m), ${CHUNK}::int
        from generate_series(0, ${Math.ceil(people / CHUNK)}::int - 1) as n
      returning *
    )
    insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, ordinal, campaign_id, chunk_no, retry_key, body, body_sha256,
                          status, accepted_at, first_attempt_at, deliver_until)
    select organization_id, line_oa_id, 'campaign', campaign_id, 'multicast', chunk_no, campaign_id, chunk_no, gen_random_uuid(),
           jsonb_build_object('to', user_ids)::text, '', 'accepted', app_now(), app_now(), app_now() + interval '1 day'
      from chunk`);
  return id;
}

/** Clicks by seven in ten as many people, on links of the campaign in turn. The events that they become are not what is measured. */
async function click(
  db: Db,
  tenant: Tenant,
  { campaignId, links, clicks }: { campaignId: string; links: number; clicks: number },
): Promise<void> {
  await db.$client.query('alter table link_click disable trigger link_click_recorded');
  for (let n = 0; n < links; n += 1) {
    const trackedLinkId = await createTrackedLink(db, tenant, { name: `link ${n}`, url: 'https://example.com' });
    const { id: issue } = await issueCampaignLink(db, tenant, { trackedLinkId, campaignId });
    await db.execute(sql`
      insert into link_click (organization_id, line_oa_id, tracked_link_id, link_issue_id, user_id, idempotency_key)
      select ${tenant.organizationId}, ${tenant.lineOaId}, ${trackedLinkId}, ${issue}, 'U' || md5((n % ${Math.ceil(clicks * 0.7)}::int)::text),
             ${issue} || ':' || n
        from generate_series(${n}::int, ${clicks}::int - 1, ${links}::int) as n order by random()`);
  }
  await db.$client.query('alter table link_click enable trigger link_click_recorded');
}

interface Look {
  readonly name: string;
  /** How many it has to count. */
  readonly rows: number;
  readonly look: () => Promise<number>;
}

const contestant = ({ servers }: Stage, { name, rows, look }: Look): Contestant => ({
  name,
  settings: `${rows.toLocaleString('en-US')} counted`,
  run: async () => {
    const use = meterProcessors(servers);
    const times: number[] = [];
    let counted = 0;
    for (let n = 0; n < LOOKS; n += 1) {
      const startedAt = performance.now();
      counted = await look();
      times.push(performance.now() - startedAt);
    }
    const middle = times.sort((a, b) => a - b)[Math.floor(LOOKS / 2)] ?? Number.NaN;
    const used = use();
    const { bench = 0, ...groups } = used.seconds;
    return {
      figures: { 'look ms': middle },
      use: { ...used, seconds: { ...groups, apps: bench } },
      ...{ units: rows * LOOKS, lost: Math.max(0, rows - counted), doubled: Math.max(0, counted - rows) },
    };
  },
});

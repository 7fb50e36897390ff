import { column, sql, type Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';

/** Of which campaigns the clicked links of these events are; a link that was issued to one person is of none, and so is every other event. */
export async function loadClickedCampaigns(
  tx: Tx,
  events: readonly OutboxEvent[],
): Promise<(event: OutboxEvent) => { readonly campaignId?: string }> {
  const campaigns = await campaignsOf(tx, [...new Set(events.flatMap((event) => issueOf(event) ?? []))]);
  return (event) => {
    const campaignId = campaigns.get(issueOf(event) ?? '');
    return campaignId === undefined ? {} : { campaignId };
  };
}

const issueOf = (event: OutboxEvent): string | null => (event.topic === 'campaign_click' ? event.linkIssueId : null);

async function campaignsOf(tx: Tx, linkIssueIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (linkIssueIds.length === 0) return new Map();
  const { rows } = await tx.execute<{ id: string; campaign_id: string }>(sql`
    select id, campaign_id from link_issue where id = any(${column(linkIssueIds, 'bigint')}) and campaign_id is not null`);
  return new Map(rows.map(({ id, campaign_id }) => [id, campaign_id]));
}

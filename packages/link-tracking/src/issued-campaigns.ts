import { column, sql, type Tx } from '@dueline/db';

/** Of which campaign each of these issues of links is, by their ids; an issue to one person is of none, and left out. */
export async function campaignsOfIssues(tx: Tx, linkIssueIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (linkIssueIds.length === 0) return new Map();
  const { rows } = await tx.execute<{ id: string; campaign_id: string }>(sql`
    select id, campaign_id from link_issue where id = any(${column(linkIssueIds, 'bigint')}) and campaign_id is not null`);
  return new Map(rows.map(({ id, campaign_id }) => [id, campaign_id]));
}

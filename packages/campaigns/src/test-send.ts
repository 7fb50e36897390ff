import { lineUserId, type Tenant, type TextMessage } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { parse } from './definition.ts';

/** People who look at a campaign before others get it. */
const MAX_TEST_PEOPLE = 5;

const people = z.array(lineUserId).min(1).max(MAX_TEST_PEOPLE);

/** What a test of a campaign sends, and to whom: each once, in the order given. */
export interface TestOfCampaign {
  readonly messages: readonly TextMessage[];
  readonly userIds: readonly string[];
}

/**
 * What a test of a campaign sends to people whom its author names: friends of the account, whether the campaign reaches them or not. The
 * campaign may be in any state, and is not touched.
 *
 * @throws PermanentError when somebody is no person of this account or has blocked it, when there are more than five, or no such campaign.
 */
export async function testOfCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaignId, userIds }: { campaignId: string; userIds: readonly string[] },
): Promise<TestOfCampaign> {
  const named = [...new Set(parse('test', people, userIds))];
  const campaign = await tx.execute<{ messages: TextMessage[] }>(sql`
    select messages from campaign
     where id = ${campaignId} and line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId} and deleted_date is null`);
  const [found] = campaign.rows;
  if (found === undefined) throw new PermanentError(`there is no campaign ${campaignId} in account ${tenant.lineOaId}`);
  const { rows } = await tx.execute<{ user_id: string; is_following: boolean }>(sql`
    select user_id, is_following from line_user
     where line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId} and user_id = any(${column(named, 'text')})`);
  const known = new Map(rows.map((row) => [row.user_id, row.is_following]));
  for (const userId of named) {
    if (!known.has(userId)) throw new PermanentError(`${userId} is no person of account ${tenant.lineOaId}`);
    if (known.get(userId) === false)
      throw new PermanentError(`${userId} has blocked the account: nothing would arrive`);
  }
  return { messages: found.messages, userIds: named };
}

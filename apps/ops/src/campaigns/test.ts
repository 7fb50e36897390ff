import { loadChannelIds, recordDeed } from '@dueline/accounts';
import { testOfCampaign } from '@dueline/campaigns';
import { inTenant } from '@dueline/db';
import { createTestDeliveries } from '@dueline/deliveries';
import { UsageError } from '../actions/command-line.ts';
import { count } from './count.ts';
import { idOf, SIGNED_OPTIONS, type Subcommand, signedOf } from './subcommand.ts';

export const testSubcommand: Subcommand = {
  takes: '<id>',
  about: 'its messages now, to up to five people whom you name; no result of it counts them',
  lists: { to: ['<LINE user id>', 'a friend of the account; repeat it for several'] },
  options: SIGNED_OPTIONS,
  workOf(typed) {
    const campaignId = idOf(typed);
    const { to: named = [] } = typed.lists;
    if (named.length === 0) throw new UsageError('test needs --to <LINE user id>');
    return (db, account) =>
      inTenant(db, account, async (tx) => {
        const { messages, userIds } = await testOfCampaign(tx, account, { campaignId, userIds: named });
        const { organizationId, lineOaId } = account;
        const channelId = (await loadChannelIds(tx, [lineOaId])).get(lineOaId);
        if (channelId === undefined) throw new Error('the account does not exist');
        const created = await createTestDeliveries(tx, {
          organizationId,
          lineOaId,
          channelId,
          campaignId,
          userIds,
          messages,
        });
        const deliveryIds = created.map(({ id }) => id);
        await recordDeed(tx, account, {
          ...{ operation: 'campaign_test', before: { id: campaignId }, after: { deliveryIds }, ...signedOf(typed) },
        });
        return {
          json: { id: campaignId, result: 'sent', deliveryIds },
          lines: [
            `campaign ${campaignId}: a test is on its way to ${count(userIds.length, 'person', 'people')} (delivery ${deliveryIds.join(', ')})`,
          ],
          isWhole: true,
        };
      });
  },
};

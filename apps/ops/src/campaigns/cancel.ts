import { cancelCampaign } from '@dueline/campaigns';
import { cancelCampaignDeliveries, listUnknownOfCampaign } from '@dueline/deliveries';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand } from './subcommand.ts';

export const cancelSubcommand: Subcommand = {
  takes: '<id>',
  about: 'never, or not any further; what is on its way or in doubt is waited for',
  options: { ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf: (typed) =>
    changeWork(typed, {
      operation: 'campaign_cancel',
      closesItem: 'dismissed',
      async make(tx, account, { ticket: campaign }) {
        const outcome = await cancelCampaign(tx, account, { campaign, stopDeliveries: cancelCampaignDeliveries });
        return { outcome, settledDoubts: await listUnknownOfCampaign(tx, account, { campaignId: campaign.id }) };
      },
    }),
};

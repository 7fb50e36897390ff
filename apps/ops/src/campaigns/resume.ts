import { resumeCampaign } from '@dueline/campaigns';
import { retryCampaignDeliveries } from '@dueline/deliveries';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand } from './subcommand.ts';

export const resumeSubcommand: Subcommand = {
  takes: '<id>',
  about: 'what was paused goes on with what is left',
  options: { ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf: (typed) =>
    changeWork(typed, {
      operation: 'campaign_resume',
      closesItem: 'resolved', // that it paused itself
      make: async (tx, account, { ticket: campaign }) => ({
        outcome: await resumeCampaign(tx, account, { campaign, retryDeliveries: retryCampaignDeliveries }),
      }),
    }),
};

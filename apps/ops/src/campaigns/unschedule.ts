import { unscheduleCampaign } from '@dueline/campaigns';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand } from './subcommand.ts';

export const unscheduleSubcommand: Subcommand = {
  takes: '<id>',
  about: 'a draft again: it does not start until it is scheduled',
  options: { ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf: (typed) =>
    changeWork(typed, {
      operation: 'campaign_unschedule',
      make: async (tx, account, { ticket: campaign }) => ({
        outcome: await unscheduleCampaign(tx, account, { campaign }),
      }),
    }),
};

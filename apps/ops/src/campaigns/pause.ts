import { pauseCampaign } from '@dueline/campaigns';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand } from './subcommand.ts';

export const pauseSubcommand: Subcommand = {
  takes: '<id>',
  about: 'no further for now; what is on its way goes to its end',
  options: { ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf: (typed) =>
    changeWork(typed, {
      operation: 'campaign_pause',
      make: async (tx, account, { ticket: campaign }) => ({ outcome: await pauseCampaign(tx, account, { campaign }) }),
    }),
};

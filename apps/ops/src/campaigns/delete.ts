import { deleteCampaign } from '@dueline/campaigns';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand } from './subcommand.ts';

export const deleteSubcommand: Subcommand = {
  takes: '<id>',
  about: 'a draft, or one that has ended, is not listed any more',
  options: { ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf: (typed) =>
    changeWork(typed, {
      operation: 'campaign_delete',
      closesItem: 'dismissed',
      make: async (tx, account, { ticket: campaign }) => ({
        outcome: await deleteCampaign(tx, account, { campaign }),
        after: { deleted: true },
      }),
    }),
};

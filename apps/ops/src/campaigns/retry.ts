import { retryCampaign } from '@dueline/campaigns';
import { retryCampaignDeliveries } from '@dueline/deliveries';
import { UsageError } from '../actions/command-line.ts';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand } from './subcommand.ts';
import { TIME_OPTIONS } from './times.ts';

const ACCEPT_DUPLICATES = 'accept-duplicates';

export const retrySubcommand: Subcommand = {
  takes: '<id> --why <reason>',
  about: 'only what failed is sent again; who has it does not get it again',
  options: { 'not-after': ['<time>', TIME_OPTIONS['not-after'][1]], ...FENCE_OPTION, ...SIGNED_OPTIONS },
  flags: { [ACCEPT_DUPLICATES]: 'also requests that LINE may have taken: some people may get them twice' },
  workOf(typed) {
    if (typed.values.why === undefined) throw new UsageError('retry needs --why <reason>');
    const acceptDuplicates = typed.flags.has(ACCEPT_DUPLICATES);
    const options = { acceptDuplicates, retryDeliveries: retryCampaignDeliveries };
    const notAfter = typed.values['not-after'];
    return changeWork(typed, {
      operation: 'campaign_retry',
      closesItem: 'resolved',
      async make(tx, account, { ticket: campaign }) {
        const { outcome, retried } = await retryCampaign(tx, account, { campaign, notAfter, ...options });
        const doubts = retried.filter(({ before }) => before === 'unknown').map(({ id }) => id);
        return {
          outcome,
          after: { requests: retried.length, acceptDuplicates: doubts.length > 0 },
          settledDoubts: doubts,
        };
      },
    });
  },
};

import { rescheduleCampaign } from '@dueline/campaigns';
import { UsageError } from '../actions/command-line.ts';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand } from './subcommand.ts';
import { TIME_OPTIONS, timesOf } from './times.ts';

export const rescheduleSubcommand: Subcommand = {
  takes: '<id> --at <time>',
  about: 'another time, as long as nobody is written down',
  options: { ...TIME_OPTIONS, ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf(typed) {
    const { startDate, ...times } = timesOf(typed);
    if (startDate === undefined) throw new UsageError('reschedule needs --at <time>');
    const wanted = { startDate, ...times };
    return changeWork(typed, {
      operation: 'campaign_reschedule',
      closesItem: 'resolved',
      async make(tx, account, { ticket: campaign, before }) {
        const outcome = await rescheduleCampaign(tx, account, { campaign, ...wanted });
        return { outcome, before: { startDate: before.startDate, notAfter: before.notAfter }, after: wanted };
      },
    });
  },
};

import { confirmCampaign, resolveCampaign } from '@dueline/campaigns';
import { listUnknownOfCampaign } from '@dueline/deliveries';
import { UsageError } from '../actions/command-line.ts';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand, type Typed } from './subcommand.ts';
import { TIME_OPTIONS, timesOf } from './times.ts';

export const resolveSubcommand: Subcommand = {
  takes: '<id> --why <reason>',
  about: 'what needs a person counts as sent, as it is; with --people, so many are confirmed and it starts',
  options: { people: TIME_OPTIONS.people, ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf(typed) {
    if (typed.values.why === undefined) throw new UsageError('resolve needs --why <reason>');
    const { confirmedCount } = timesOf(typed);
    return confirmedCount === undefined ? asSent(typed) : confirmed(typed, confirmedCount);
  },
};

const asSent = (typed: Typed) =>
  changeWork(typed, {
    operation: 'campaign_resolve',
    closesItem: 'dismissed',
    make: async (tx, account, { ticket: campaign }) => ({
      outcome: await resolveCampaign(tx, account, { campaign }),
      settledDoubts: await listUnknownOfCampaign(tx, account, { campaignId: campaign.id }),
    }),
  });

const confirmed = (typed: Typed, confirmedCount: number) =>
  changeWork(typed, {
    operation: 'campaign_confirm',
    closesItem: 'resolved',
    make: async (tx, account, { ticket: campaign, before }) => ({
      outcome: await confirmCampaign(tx, account, { campaign, confirmedCount }),
      before: { confirmedCount: before.confirmedCount },
      after: { confirmedCount },
    }),
  });

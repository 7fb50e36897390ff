import { confirmCampaign, resolveCampaign } from '@dueline/campaigns';
import { listUnknownOfCampaign } from '@dueline/deliveries';
import { UsageError } from '../actions/command-line.ts';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand, type Typed } from './subcommand.ts';
import { TIME_OPTIONS, timesOf } from './times.ts';

export const resolveSubcommand: Subcommand = {
  takes: '<id> --why <reason>',
  about: 'what needs a person counts as sent, as it is; with --people or --over-quota it starts',
  flags: { 'over-quota': 'send it though the month has too few messages left, as far as LINE takes it' },
  options: { people: TIME_OPTIONS.people, ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf(typed) {
    if (typed.values.why === undefined) throw new UsageError('resolve needs --why <reason>');
    const { confirmedCount } = timesOf(typed);
    const ignoresQuota = typed.flags.has('over-quota') || undefined;
    if (confirmedCount === undefined && ignoresQuota === undefined) return asSent(typed);
    return confirmed(typed, { confirmedCount, ignoresQuota });
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

const confirmed = (typed: Typed, wanted: { confirmedCount: number | undefined; ignoresQuota: boolean | undefined }) =>
  changeWork(typed, {
    operation: 'campaign_confirm',
    closesItem: 'resolved',
    make: async (tx, account, { ticket: campaign, before }) => ({
      outcome: await confirmCampaign(tx, account, { campaign, ...wanted }),
      before: { confirmedCount: before.confirmedCount },
      after: wanted,
    }),
  });

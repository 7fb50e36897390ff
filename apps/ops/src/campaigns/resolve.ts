import { confirmCampaign, resolveCampaign } from '@dueline/campaigns';
import { listUnknownOfCampaign } from '@dueline/deliveries';
import { UsageError } from '../actions/command-line.ts';
import { changeWork } from './change.ts';
import { FENCE_OPTION, SIGNED_OPTIONS, type Subcommand, signedOf, type Typed } from './subcommand.ts';

export const resolveSubcommand: Subcommand = {
  takes: '<id> --why <reason>',
  about:
    'what needs a person counts as sent, as it is; with --confirm, those whom the preview showed are confirmed and it starts',
  options: { confirm: ['<token>', 'as the preview named it'], ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf(typed) {
    if (typed.values.why === undefined) throw new UsageError('resolve needs --why <reason>');
    const { confirm: token } = typed.values;
    return token === undefined ? asSent(typed) : confirmed(typed, token);
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

const confirmed = (typed: Typed, token: string) =>
  changeWork(typed, {
    operation: 'campaign_confirm',
    closesItem: 'resolved',
    make: async (tx, account, { ticket: campaign, before }) => ({
      outcome: await confirmCampaign(tx, account, { campaign, token, by: signedOf(typed).by }),
      before: { confirmedCount: before.confirmedCount },
    }),
  });

import { getCampaignResult } from '@dueline/campaigns';
import { detailLines } from './render.ts';
import { campaignOf, idOf, type Subcommand } from './subcommand.ts';

export const showSubcommand: Subcommand = {
  takes: '<id>',
  about: 'one campaign: what it says to whom, how far it came, what became of its people',
  workOf(typed) {
    const id = idOf(typed);
    return async (db, account) => {
      const campaign = await campaignOf(db, account, id);
      const result = await getCampaignResult(db, { campaignId: id });
      return {
        json: { ...campaign, result: result ?? null },
        lines: detailLines(account, campaign, result),
        isWhole: true,
      };
    };
  },
};

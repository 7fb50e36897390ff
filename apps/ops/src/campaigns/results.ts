import { type AccountName, listDeeds } from '@dueline/accounts';
import { getCampaignReport } from '@dueline/campaigns';
import type { Db } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { countCampaignClicks } from '@dueline/link-tracking';
import type { CampaignResults } from './results-figures.ts';
import { resultsJson, resultsLines } from './results-view.ts';
import { campaignOf, idOf, type Subcommand } from './subcommand.ts';

export const resultsSubcommand: Subcommand = {
  takes: '<id>',
  about: 'what came of one campaign: whom LINE took it for, what became of the others and why, who clicked what, when',
  workOf(typed) {
    const id = idOf(typed);
    return async (db, account) => {
      const results = await resultsOf(db, account, id);
      return { json: resultsJson(results), lines: resultsLines(account, results), isWhole: true };
    };
  },
};

/** @throws PermanentError when the account has no such campaign. */
async function resultsOf(db: Db, account: AccountName, id: string): Promise<CampaignResults> {
  const campaign = await campaignOf(db, account, id);
  const report = await getCampaignReport(db, account, { campaignId: id });
  if (report === undefined) throw new PermanentError(`there is no campaign ${id} in account ${account.lineOaId}`);
  const clicks = await countCampaignClicks(db, account, { campaignId: id });
  const deeds = await listDeeds(db, account, { operations: 'campaign_', id });
  return { campaign, report, clicks, deeds };
}

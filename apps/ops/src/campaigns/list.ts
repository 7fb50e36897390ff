import { listCampaigns } from '@dueline/campaigns';
import { CAMPAIGN_STATUS, type CampaignStatus } from '@dueline/contracts';
import { UsageError } from '../actions/command-line.ts';
import { ID } from '../id.ts';
import { pageLines } from './render.ts';
import type { Subcommand } from './subcommand.ts';

const ROWS_OF_A_PAGE = 20;
const MAX_PAGE = 500;
const STATUSES = Object.values(CAMPAIGN_STATUS);

export const listSubcommand: Subcommand = {
  takes: '',
  about: 'the campaigns of the account, the newest first',
  options: {
    status: ['<status,…>', STATUSES.join(', ')],
    limit: ['<n>', `rows of a page, ${ROWS_OF_A_PAGE} if not given`],
    after: ['<id>', 'the page that the list before named'],
  },
  workOf({ ids, values }) {
    const { limit = String(ROWS_OF_A_PAGE), after } = values;
    if (ids.length > 0) throw new UsageError('list takes --status, --limit and --after; for one campaign: show <id>');
    if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MAX_PAGE)
      throw new UsageError(`--limit ${limit}: a number from 1 to ${MAX_PAGE}`);
    if (after !== undefined && !ID.test(after)) throw new UsageError(`--after ${after}: the id of a campaign`);
    const statuses = values.status?.split(',').map(statusOf);
    return async (db, account) => {
      const page = await listCampaigns(db, account, { statuses, after, limit: Number(limit) });
      return { json: page, lines: pageLines(account, page), isWhole: true };
    };
  },
};

function statusOf(word: string): CampaignStatus {
  const status = STATUSES.find((known) => known === word);
  if (status === undefined) throw new UsageError(`--status ${word}: one of ${STATUSES.join(', ')}`);
  return status;
}

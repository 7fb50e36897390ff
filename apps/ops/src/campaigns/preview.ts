import { type AccountName, isMonthTold, wantMonth } from '@dueline/accounts';
import { type CampaignPreview, previewCampaign } from '@dueline/campaigns';
import type { Db } from '@dueline/db';
import { sleep } from '@dueline/kernel';
import { timeIn } from '../actions/table.ts';
import { count } from './count.ts';
import { campaignOf, FENCE_OPTION, idOf, SIGNED_OPTIONS, type Subcommand, signedOf, ticketOf } from './subcommand.ts';

/** LINE is asked for its numbers by whoever may ask it; a person waits for so long. */
const WAIT_FOR_MONTH_MS = 3_000;
const LOOK_EVERY_MS = 100;

export const previewSubcommand: Subcommand = {
  takes: '<id>',
  about: 'whom it would reach now, and what that takes; with the token that scheduling and sending ask for',
  options: { ...FENCE_OPTION, by: SIGNED_OPTIONS.by },
  workOf(typed) {
    const id = idOf(typed);
    return async (db, account) => {
      const campaign = ticketOf(typed, await campaignOf(db, account, id));
      await askForMonth(db, account);
      const preview = await previewCampaign(db, account, { campaign, by: signedOf(typed).by });
      if (preview === undefined)
        return {
          json: { id, result: 'not_open' },
          lines: [`campaign ${id}: only what has not begun has a preview; or it has changed: look again`],
          isWhole: false,
        };
      return { json: preview, lines: previewLines(account, preview), isWhole: preview.token !== null };
    };
  },
};

async function askForMonth(db: Db, account: AccountName): Promise<void> {
  await wantMonth(db, account);
  const until = performance.now() + WAIT_FOR_MONTH_MS;
  while (!(await isMonthTold(db, account)) && performance.now() < until) await sleep(LOOK_EVERY_MS);
}

function previewLines(account: AccountName, preview: CampaignPreview): string[] {
  const { campaign, people, excluded, requests, messages, token, confirmUntil } = preview;
  const whom =
    people === null
      ? `all friends of the account, whom LINE alone knows; we know ${count(messages, 'friend')}`
      : `${count(people, 'person', 'people')}${excluded === 0 ? '' : `; ${count(excluded, 'friend')} left out`}`;
  return [
    `campaign ${campaign.id}: ${whom}`,
    `${count(requests, 'request')}, ${people === null ? 'at least ' : ''}${count(messages, 'message')} of the month; ${monthOf(account, preview)}`,
    ...(token === null
      ? ['nobody would be reached: there is nothing to confirm']
      : [
          '',
          `to schedule exactly this, until ${timeIn(account.timezone, confirmUntil)}:`,
          `  ./dueline campaigns schedule ${campaign.id} --account ${account.lineOaId} --at <time> --confirm ${token}`,
        ]),
  ];
}

function monthOf({ timezone }: AccountName, { month, messages }: CampaignPreview): string {
  if (month.known === 'unknown') return 'LINE has not told how many are left';
  if (month.known === 'no_limit') return 'LINE names no limit';
  const short = messages > month.left ? ', which is too few: it would be held' : '';
  return `${month.left.toLocaleString('en')} are left, as LINE told at ${timeIn(timezone, month.toldAt)}${short}`;
}

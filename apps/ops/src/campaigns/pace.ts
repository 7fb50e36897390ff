import { recordDeed } from '@dueline/accounts';
import { setCampaignPace } from '@dueline/campaigns';
import { inTenant } from '@dueline/db';
import { repaceChunks } from '@dueline/deliveries';
import { UsageError } from '../actions/command-line.ts';
import { refusedAnswer } from './change.ts';
import { campaignOf, FENCE_OPTION, idOf, SIGNED_OPTIONS, type Subcommand, signedOf, ticketOf } from './subcommand.ts';

export const paceSubcommand: Subcommand = {
  takes: '<id>',
  about: 'how many people it may reach within a minute',
  options: {
    'per-minute': ['<people>', 'a whole number; `none`: as fast as LINE allows'],
    ...FENCE_OPTION,
    ...SIGNED_OPTIONS,
  },
  workOf(typed) {
    const id = idOf(typed);
    const maxPerMinute = paceOf(typed.values['per-minute']);
    return async (db, account) => {
      const ticket = ticketOf(typed, await campaignOf(db, account, id));
      const wanted = { campaign: ticket, maxPerMinute, repaceDeliveries: repaceChunks };
      const outcome = await inTenant(db, account, async (tx) => {
        const set = await setCampaignPace(tx, account, wanted);
        if (set.result === 'set') {
          const pace = { before: { id }, after: { id, maxPerMinute } };
          await recordDeed(tx, account, { operation: 'campaign_pace', ...pace, ...signedOf(typed) });
        }
        return set;
      });
      if (outcome.result === 'refused') return refusedAnswer(id, outcome);
      const under = outcome.repaced === 0 ? '' : ` from now on; requests that have not begun: ${outcome.repaced}`;
      return {
        json: { id, ...outcome, maxPerMinute },
        lines: [`campaign ${id}: up to ${maxPerMinute ?? 'any number of'} people a minute${under}`],
        isWhole: true,
      };
    };
  },
};

function paceOf(word: string | undefined): number | null {
  if (word === 'none') return null;
  if (word === undefined || !/^[1-9]\d{0,7}$/.test(word))
    throw new UsageError('pace needs --per-minute <people>: a whole number from 1 to 10000000, or none');
  return Number(word);
}

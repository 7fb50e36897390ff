import { recordDeed } from '@dueline/accounts';
import { setCampaignPace } from '@dueline/campaigns';
import { inTenant } from '@dueline/db';
import { UsageError } from '../actions/command-line.ts';
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
      const before = await campaignOf(db, account, id);
      const isSet = await inTenant(db, account, async (tx) => {
        const set = await setCampaignPace(tx, { campaign: ticketOf(typed, before), maxPerMinute });
        if (set) {
          const pace = { before: { id }, after: { id, maxPerMinute } };
          await recordDeed(tx, account, { operation: 'campaign_pace', ...pace, ...signedOf(typed) });
        }
        return set;
      });
      const says = isSet
        ? `up to ${maxPerMinute ?? 'any number of'} people a minute`
        : 'it has changed, or has begun: look again';
      const json = { id, result: isSet ? 'set' : 'changed', maxPerMinute };
      return { json, lines: [`campaign ${id}: ${says}`], isWhole: isSet };
    };
  },
};

function paceOf(word: string | undefined): number | null {
  if (word === 'none') return null;
  if (word === undefined || !/^[1-9]\d{0,7}$/.test(word))
    throw new UsageError('pace needs --per-minute <people>: a whole number from 1 to 10000000, or none');
  return Number(word);
}

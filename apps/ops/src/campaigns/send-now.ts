import { recordDeed } from '@dueline/accounts';
import { sendCampaignNow } from '@dueline/campaigns';
import { inTenant } from '@dueline/db';
import { UsageError } from '../actions/command-line.ts';
import { closeItem } from './close-item.ts';
import { campaignOf, FENCE_OPTION, idOf, SIGNED_OPTIONS, type Subcommand, signedOf, ticketOf } from './subcommand.ts';

export const sendNowSubcommand: Subcommand = {
  takes: '<id>',
  about: 'starts a draft, or what is scheduled, at once',
  options: { confirm: ['<token>', 'as the preview named it'], ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf(typed) {
    const id = idOf(typed);
    const { confirm: token } = typed.values;
    if (token === undefined) throw new UsageError(`send-now needs --confirm <token>: see it with preview ${id}`);
    const signed = signedOf(typed);
    return async (db, account) => {
      const before = await campaignOf(db, account, id);
      const sent = await inTenant(db, account, async (tx) => {
        const ticket = await sendCampaignNow(tx, { campaign: ticketOf(typed, before), token, by: signed.by });
        if (ticket === undefined) return undefined;
        const states = {
          before: { id, status: before.status, startDate: before.startDate },
          after: { status: 'scheduled' },
        };
        const operation = 'campaign_send_now';
        await recordDeed(tx, account, { operation, ...states, ...signed });
        await closeItem(tx, account, { id, status: 'resolved', operation, signed });
        return ticket;
      });
      if (sent === undefined)
        return {
          json: { id, result: 'changed' },
          lines: [`campaign ${id}: it has changed, or has begun: look again`],
          isWhole: false,
        };
      return { json: { id, result: 'due', fence: sent.fence }, lines: [`campaign ${id}: starts now`], isWhole: true };
    };
  },
};

import { recordDeed } from '@dueline/accounts';
import { scheduleCampaign } from '@dueline/campaigns';
import { inTenant } from '@dueline/db';
import { UsageError } from '../actions/command-line.ts';
import { closeItem } from './close-item.ts';
import { campaignOf, FENCE_OPTION, idOf, SIGNED_OPTIONS, type Subcommand, signedOf, ticketOf } from './subcommand.ts';

export const scheduleSubcommand: Subcommand = {
  takes: '<id>',
  about: 'at its time, to those whom the preview showed',
  options: {
    at: ['<time>', 'when it starts'],
    'not-after': ['<time>', 'what was not sent by then is not sent any more'],
    confirm: ['<token>', 'as the preview named it'],
    ...FENCE_OPTION,
    ...SIGNED_OPTIONS,
  },
  flags: { 'ignore-quota': 'although the month has too few messages for it: whom it does not reach waits for more' },
  workOf(typed) {
    const id = idOf(typed);
    const { at: startDate, 'not-after': notAfter, confirm: token } = typed.values;
    if (startDate === undefined) throw new UsageError('schedule needs --at <time>');
    if (token === undefined) throw new UsageError(`schedule needs --confirm <token>: see it with preview ${id}`);
    const signed = signedOf(typed);
    const ignoresQuota = typed.flags.has('ignore-quota');
    return async (db, account) => {
      const before = await campaignOf(db, account, id);
      const campaign = ticketOf(typed, before);
      const isScheduled = await inTenant(db, account, async (tx) => {
        const when = { startDate, notAfter, ignoresQuota };
        const confirmed = { campaign, token, by: signed.by };
        if ((await scheduleCampaign(tx, account, { ...when, ...confirmed })) === undefined) return false;
        // In one transaction: once it is scheduled it may start, and be held anew with an item of its own.
        const operation = 'campaign_schedule';
        await closeItem(tx, account, { id, status: 'resolved', operation, signed });
        await recordDeed(tx, account, {
          operation,
          before: { id, status: before.status },
          after: { status: 'scheduled', startDate, ignoresQuota },
          ...signed,
        });
        return true;
      });
      if (!isScheduled)
        return {
          json: { id, result: 'changed' },
          lines: [`campaign ${id}: it has changed: look again`],
          isWhole: false,
        };
      return {
        json: { id, result: 'scheduled' },
        lines: [`campaign ${id}: scheduled for ${startDate}`],
        isWhole: true,
      };
    };
  },
};

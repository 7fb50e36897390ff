import { recordDeed } from '@dueline/accounts';
import { startAtLocalTime } from '@dueline/campaigns';
import { inTenant } from '@dueline/db';
import { UsageError } from '../actions/command-line.ts';
import { campaignOf, FENCE_OPTION, idOf, SIGNED_OPTIONS, type Subcommand, signedOf, ticketOf } from './subcommand.ts';

export const localTimeSubcommand: Subcommand = {
  takes: '<id>',
  about: 'starts what is scheduled by a clock on the wall',
  options: {
    at: ['<time>', 'like 2026-12-24T18:00'],
    zone: ['<zone>', 'whose clock, like Asia/Bangkok; the account’s if not given, and it moves with that'],
    ...FENCE_OPTION,
    ...SIGNED_OPTIONS,
  },
  workOf(typed) {
    const id = idOf(typed);
    const { at: local, zone } = typed.values;
    if (local === undefined) throw new UsageError('local-time needs --at <time>, like 2026-12-24T18:00');
    return async (db, account) => {
      const before = await campaignOf(db, account, id);
      const start = { local, ...(zone !== undefined && { zone }) };
      const scheduled = await inTenant(db, account, async (tx) => {
        const ticket = await startAtLocalTime(tx, { campaign: ticketOf(typed, before), ...start });
        if (ticket !== undefined) {
          const times = {
            before: { id, startDate: before.startDate },
            after: { startDate: ticket.startDate, ...start },
          };
          await recordDeed(tx, account, { operation: 'campaign_local_time', ...times, ...signedOf(typed) });
        }
        return ticket;
      });
      const says =
        scheduled === undefined
          ? 'it has changed, or is not scheduled: look again'
          : `starts at ${scheduled.startDate}`;
      const json = scheduled === undefined ? { id, result: 'changed' } : { result: 'scheduled', ...scheduled };
      return { json, lines: [`campaign ${id}: ${says}`], isWhole: scheduled !== undefined };
    };
  },
};

import { recordDeed } from '@dueline/accounts';
import { cancelCampaign } from '@dueline/campaigns';
import { inTransaction } from '@dueline/db';
import { campaignOf, FENCE_OPTION, idOf, SIGNED_OPTIONS, type Subcommand, signedOf, ticketOf } from './subcommand.ts';

export const cancelSubcommand: Subcommand = {
  takes: '<id>',
  about: 'never: a draft, or what has not begun',
  options: { ...FENCE_OPTION, ...SIGNED_OPTIONS },
  workOf(typed) {
    const id = idOf(typed);
    return async (db, account) => {
      const before = await campaignOf(db, account, id);
      const cancelled = await cancelCampaign(db, account, ticketOf(typed, before));
      if (cancelled === undefined)
        return {
          json: { id, result: 'changed' },
          lines: [`campaign ${id}: it has changed: look again`],
          isWhole: false,
        };
      const states = { before: { id, status: before.status }, after: { status: 'cancel' } };
      await inTransaction(db, (tx) =>
        recordDeed(tx, account, { operation: 'campaign_cancel', ...states, ...signedOf(typed) }),
      );
      return { json: { id, result: 'cancel' }, lines: [`campaign ${id}: cancel`], isWhole: true };
    };
  },
};

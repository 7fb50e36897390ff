import { recordDeed } from '@dueline/accounts';
import { copyCampaign } from '@dueline/campaigns';
import { inTenant } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { idOf, SIGNED_OPTIONS, type Subcommand, signedOf } from './subcommand.ts';

export const copySubcommand: Subcommand = {
  takes: '<id>',
  about: 'a new draft that says the same to the same people, whatever became of this one',
  options: SIGNED_OPTIONS,
  workOf(typed) {
    const id = idOf(typed);
    return async (db, account) => {
      const copy = await inTenant(db, account, async (tx) => {
        const draft = await copyCampaign(tx, account, { id });
        if (draft === undefined) throw new PermanentError(`there is no campaign ${id} in account ${account.lineOaId}`);
        const states = { before: { id }, after: { id: draft.id, status: 'draft' } };
        await recordDeed(tx, account, { operation: 'campaign_copy', ...states, ...signedOf(typed) });
        return draft;
      });
      return { json: copy, lines: [`campaign ${copy.id}: draft, a copy of ${id}`], isWhole: true };
    };
  },
};

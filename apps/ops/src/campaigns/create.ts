import { recordDeed } from '@dueline/accounts';
import { type CampaignDraft, createCampaign } from '@dueline/campaigns';
import { CAST_TYPE } from '@dueline/contracts';
import { inTenant } from '@dueline/db';
import { UsageError } from '../actions/command-line.ts';
import { SIGNED_OPTIONS, type Subcommand, signedOf, type Typed } from './subcommand.ts';

export const createSubcommand: Subcommand = {
  takes: '',
  about: 'a draft, to an audience or to all friends of the account',
  options: { name: ['<name>', 'what people call it'], audience: ['<id>', 'to whom'], ...SIGNED_OPTIONS },
  lists: { text: ['<text>', 'the message; repeat it for several'] },
  flags: { everybody: 'to all friends of the account, instead of an audience' },
  workOf(typed) {
    const draft = draftOf(typed);
    return async (db, account) => {
      const { id, fence } = await createCampaign(db, account, draft);
      const deed = { operation: 'campaign_create', before: { id }, after: draft };
      await inTenant(db, account, (tx) => recordDeed(tx, account, { ...deed, ...signedOf(typed) }));
      return {
        json: { id, fence },
        lines: [`campaign ${id}: draft; see whom it would reach: campaigns preview ${id}`],
        isWhole: true,
      };
    };
  },
};

function draftOf({ ids, values, lists, flags }: Typed): CampaignDraft {
  const { name, audience: audienceId } = values;
  const messages = lists.text?.map((text) => ({ type: 'text' as const, text }));
  const isToAll = flags.has('everybody');
  if (ids.length > 0 || name === undefined || messages === undefined || isToAll === (audienceId !== undefined))
    throw new UsageError('create needs --name, --text, and either --audience or --everybody');
  const common = { name, messages };
  return audienceId === undefined
    ? { ...common, castType: CAST_TYPE.broadcast }
    : { ...common, castType: CAST_TYPE.multicast, audienceId };
}

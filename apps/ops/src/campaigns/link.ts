import { recordDeed } from '@dueline/accounts';
import { inTransaction } from '@dueline/db';
import { createTrackedLink, issueCampaignLink } from '@dueline/link-tracking';
import { UsageError } from '../actions/command-line.ts';
import { ID } from '../id.ts';
import { campaignOf, idOf, SIGNED_OPTIONS, type Subcommand, signedOf } from './subcommand.ts';

export const linkSubcommand: Subcommand = {
  takes: '<id>',
  about:
    'a code under which its text may carry a link, so that its clicks are counted; the same link has the same code',
  options: {
    link: ['<id>', 'a link that exists'],
    url: ['<url>', 'or where a new one leads, with --name'],
    name: ['<name>', 'how the results call the new one'],
    ...SIGNED_OPTIONS,
  },
  workOf(typed) {
    const id = idOf(typed);
    const { link, url, name } = typed.values;
    if ((link === undefined) === (url === undefined))
      throw new UsageError('link needs --link <id>, or --url <url> and --name <name>');
    if (link !== undefined && !ID.test(link)) throw new UsageError(`--link ${link}: the id of a link`);
    if ((url === undefined) !== (name === undefined)) throw new UsageError('--url and --name belong together');
    return async (db, account) => {
      await campaignOf(db, account, id);
      const trackedLinkId = link ?? (await createTrackedLink(db, account, { url: url ?? '', name: name ?? '' }));
      const { code } = await issueCampaignLink(db, account, { trackedLinkId, campaignId: id });
      const deed = { operation: 'campaign_link', before: { id }, after: { trackedLinkId }, ...signedOf(typed) };
      await inTransaction(db, (tx) => recordDeed(tx, account, deed));
      return {
        json: { id, trackedLinkId, code },
        lines: [
          `campaign ${id}: link ${trackedLinkId} has the code ${code}`,
          'put it into the text behind the address of the service that takes your clicks',
        ],
        isWhole: true,
      };
    };
  },
};

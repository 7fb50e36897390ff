import type { AccountName, Signed } from '@dueline/accounts';
import { closeAttention } from '@dueline/attention';
import type { Tx } from '@dueline/db';

/** Closes the item of `dueline attention` that speaks of a campaign, if there is one. @param of.operation Says why where the person did not. */
export const closeItem = (
  tx: Tx,
  account: AccountName,
  of: { id: string; status: 'resolved' | 'dismissed'; operation: `campaign_${string}`; signed: Signed },
) =>
  closeAttention(tx, account, {
    ...{ kind: 'campaign_not_sent', refIds: [of.id], status: of.status },
    ...{ closedBy: of.signed.by, resolution: of.signed.reason ?? of.operation },
  });

import { nthUserId } from '@dueline/line-simulator';
import {
  ACCOUNTS,
  type Account,
  CAMPAIGNS,
  CANCELLED_PER_ACCOUNT,
  type Cause,
  EXPECTATIONS,
  type Users,
} from './story.ts';

/** One message that one person must receive exactly once. */
export interface PlannedReceipt {
  readonly channelId: string;
  readonly userId: string;
  readonly lid: string;
  readonly cause: Cause;
  readonly delaySeconds: number;
}

export const usersOf = (account: Account, { first, count }: Users): string[] =>
  Array.from({ length: count }, (_, at) => nthUserId(account.userPrefix, first + at));

/** A receipt's identity: who received what. */
export const receiptKey = ({ channelId, userId, lid }: Pick<PlannedReceipt, 'channelId' | 'userId' | 'lid'>): string =>
  `${channelId}/${userId}/${lid}`;

/** What the story must lead to, computed from the story alone, before any row exists. */
export function planStory(): { receipts: ReadonlyMap<string, PlannedReceipt>; cancelled: number } {
  const ofActs: PlannedReceipt[] = ACCOUNTS.flatMap((account) =>
    EXPECTATIONS.flatMap(({ act, users, lid, delaySeconds }) =>
      usersOf(account, users).map((userId) => ({
        channelId: account.channelId,
        userId,
        lid,
        cause: act,
        delaySeconds,
      })),
    ),
  );
  const ofCampaigns: PlannedReceipt[] = CAMPAIGNS.flatMap((campaign) => {
    const { channelId, userCount } = campaign.account;
    return usersOf(campaign.account, { first: 0, count: userCount }).map((userId) => ({
      ...{ channelId, userId, lid: campaign.lid, cause: campaign, delaySeconds: 0 },
    }));
  });
  const receipts = [...ofActs, ...ofCampaigns];
  return {
    receipts: new Map(receipts.map((receipt) => [receiptKey(receipt), receipt])),
    cancelled: ACCOUNTS.length * CANCELLED_PER_ACCOUNT,
  };
}

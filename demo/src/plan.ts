import { nthUserId } from '@dueline/line-simulator';
import { CLOCK_EXPECTATION, SOURCE_EXPECTATIONS } from './sources-story.ts';
import {
  ACCOUNTS,
  type Account,
  CAMPAIGNS,
  CANCELLED_PER_ACCOUNT,
  type Cause,
  EXPECTATIONS,
  type Expectation,
  type Users,
} from './story.ts';
import { WAITING_EXPECTATIONS } from './waiting-story.ts';

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

export type PlannedReceipts = ReadonlyMap<string, PlannedReceipt>;

/** What the story must lead to, computed from the story alone, before any row exists: its first scene, that of the sources, and the three days after it. */
export function planStory(): {
  receipts: PlannedReceipts;
  sources: PlannedReceipts;
  waiting: PlannedReceipts;
  cancelled: number;
} {
  const ofCampaigns: PlannedReceipt[] = CAMPAIGNS.flatMap((campaign) => {
    const { channelId, userCount } = campaign.account;
    return usersOf(campaign.account, { first: 0, count: userCount }).map((userId) => ({
      ...{ channelId, userId, lid: campaign.lid, cause: campaign, delaySeconds: 0 },
    }));
  });
  return {
    receipts: byKey([...ofExpectations(EXPECTATIONS), ...ofCampaigns]),
    sources: byKey(ofExpectations(SOURCE_EXPECTATIONS)),
    waiting: byKey(ofExpectations([...WAITING_EXPECTATIONS, CLOCK_EXPECTATION])),
    cancelled: ACCOUNTS.length * CANCELLED_PER_ACCOUNT,
  };
}

const byKey = (receipts: readonly PlannedReceipt[]): PlannedReceipts =>
  new Map(receipts.map((receipt) => [receiptKey(receipt), receipt]));

function ofExpectations(expectations: readonly Expectation[]): PlannedReceipt[] {
  return ACCOUNTS.flatMap((account) =>
    expectations.flatMap(({ act, users, lid, delaySeconds }) =>
      usersOf(account, users).map((userId) => ({
        channelId: account.channelId,
        userId,
        lid,
        cause: act,
        delaySeconds,
      })),
    ),
  );
}

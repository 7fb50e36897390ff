import { nthUserId } from '@dueline/line-simulator';
import { ACCOUNTS, type Account, type Act, CANCELLED_PER_ACCOUNT, EXPECTATIONS, type Users } from './story.ts';

/** One message that one person must receive exactly once. */
export interface PlannedReceipt {
  readonly channelId: string;
  readonly userId: string;
  readonly lid: string;
  readonly act: Act;
  readonly delaySeconds: number;
}

export const usersOf = (account: Account, { first, count }: Users): string[] =>
  Array.from({ length: count }, (_, at) => nthUserId(account.userPrefix, first + at));

/** A receipt's identity: who received what. */
export const receiptKey = ({ channelId, userId, lid }: Pick<PlannedReceipt, 'channelId' | 'userId' | 'lid'>): string =>
  `${channelId}/${userId}/${lid}`;

/** What the story must lead to, computed from the story alone, before any row exists. */
export function planStory(): { receipts: ReadonlyMap<string, PlannedReceipt>; cancelled: number } {
  const receipts = ACCOUNTS.flatMap((account) =>
    EXPECTATIONS.flatMap(({ act, users, lid, delaySeconds }) =>
      usersOf(account, users).map((userId) => ({ channelId: account.channelId, userId, lid, act, delaySeconds })),
    ),
  );
  return {
    receipts: new Map(receipts.map((receipt) => [receiptKey(receipt), receipt])),
    cancelled: ACCOUNTS.length * CANCELLED_PER_ACCOUNT,
  };
}

import { join } from 'node:path';
import { type LineSimulator, startSimulator } from '@dueline/demo';
import { nthUserId } from '@dueline/line-simulator';
import type { Stage } from './stage.ts';

/** Accounts that are sent from, so that no account's limit is what is measured. */
export const PUSH_ACCOUNTS = 8;
/** Friends of each. */
const FRIENDS = 10_000;

/** A LINE of its own for one run: the accounts of the product, without limits. */
export const startLine = ({ stateFolder }: Stage): Promise<LineSimulator> =>
  startSimulator(
    Array.from({ length: PUSH_ACCOUNTS }, (_, account) => ({
      channelId: String(3_200_000_000 + account),
      channelAccessToken: tokenOf(account),
      users: [{ prefix: prefixOf(account), count: FRIENDS }],
      knobs: { limits: { push: { count: 10_000_000, perMs: 1_000 } } },
    })),
    join(stateFolder, 'logs', 'bench-push'),
  );

/** As the product seals it for its n-th account. */
export const tokenOf = (account: number): string => `bench-token-${account}`;

const prefixOf = (account: number): string => account.toString(16).padStart(4, 'a');

/** The n-th push of a run: to the accounts by turns, and to each one's friends by turns. */
export function pushOf(n: number): { account: number; userId: string; body: string } {
  const account = n % PUSH_ACCOUNTS;
  const userId = nthUserId(prefixOf(account), Math.floor(n / PUSH_ACCOUNTS) % FRIENDS);
  const messages = [{ type: 'text', text: `Your table is waiting. [[lid:a:${n}:1]]` }];
  return { account, userId, body: JSON.stringify({ to: userId, messages }) };
}

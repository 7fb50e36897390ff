import { type PausedAccount, takePausedAccounts } from '@dueline/accounts';
import type { Db } from '@dueline/db';
import type { LineAccountClient, MonthlyQuota } from '@dueline/line-client';
import { isUsedUp } from './judge-throttle.ts';
import type { Pauses } from './pauses.ts';
import type { Tokens } from './tokens.ts';

export interface LookDeps {
  readonly db: Db;
  readonly line: Pick<LineAccountClient, 'monthlyQuota' | 'tokenWorks'>;
  readonly tokens: Tokens;
  readonly pauses: Pauses;
  /** Seconds of process time between two looks at one account. */
  readonly everySeconds: number;
}

const ACCOUNTS_AT_ONCE = 20;
/** Messages that LINE holds back although its numbers leave room are asked for again after this. */
const HELD_BACK_SECONDS = 60 * 60;

/** Why a pause for want of messages is over; undefined: it is not. Pure. */
export function shortageIsOver(account: PausedAccount, now: MonthlyQuota | undefined): string | undefined {
  if (account.isNewMonth) return 'a new month has begun';
  if (account.reasonCode === 'held_back' && account.pausedSeconds >= HELD_BACK_SECONDS) return 'an hour has passed';
  if (now === undefined || isUsedUp(now, account.wanted)) return undefined;
  if (account.reasonCode === 'monthly_limit') return 'LINE has room for messages again';
  const isAsBefore = now.value === account.quota && now.used === account.used;
  return isAsBefore ? undefined : 'the numbers of the month have changed';
}

/** Looks at paused accounts, each by one process at a time, and lets those go on that LINE would serve again. */
export const lookAtPaused = (deps: LookDeps) => async (): Promise<void> => {
  const accounts = await takePausedAccounts(deps.db, { everySeconds: deps.everySeconds, limit: ACCOUNTS_AT_ONCE });
  await Promise.all(accounts.map((account) => look(deps, account)));
};

async function look({ line, tokens, pauses }: LookDeps, account: PausedAccount): Promise<void> {
  const { lineOaId, reasonCode } = account;
  const token = await tokens.get(lineOaId).catch(() => undefined); // none yet: paused for another while
  if (reasonCode !== 'token_refused') {
    const quota = token === undefined ? undefined : await line.monthlyQuota(token);
    const reason = shortageIsOver(account, quota);
    if (reason !== undefined) await pauses.unpause(account, { reasonCode, reason });
    return;
  }
  if (token === undefined) return;
  const works = await line.tokenWorks(token);
  if (works === 'no') await tokens.rejected(lineOaId, token);
  if (works !== 'yes') return;
  tokens.worked(lineOaId, token);
  await pauses.unpause(account, { reasonCode, reason: 'LINE takes the token again' });
}

import { recordMonth, takeWantedMonths } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { createLineAccountClient, type LineAccountClient } from '@dueline/line-client';
import type { Log } from '@dueline/mq';
import { every } from '@dueline/runtime';
import type { Worker } from '@dueline/worker-app';
import type { Config } from './config.ts';

/** Asks LINE how an account's month stands, and writes it down. Never rejects: what LINE does not tell stays unknown. */
export type AskMonth = (tenant: Tenant) => Promise<void>;

export interface AskMonthDeps {
  readonly db: Db;
  readonly line: Pick<LineAccountClient, 'monthlyQuota'>;
  readonly log: Log;
  readonly channelAccessToken: (lineOaId: string) => Promise<string>;
}

export const askMonth =
  ({ db, line, log, channelAccessToken }: AskMonthDeps): AskMonth =>
  async ({ organizationId, lineOaId }) => {
    try {
      const told = await line.monthlyQuota(await channelAccessToken(lineOaId));
      if (told === undefined) log.warn({ lineOaId }, 'LINE did not tell how the month stands');
      else await recordMonth(db, { organizationId, lineOaId }, { quota: told.value, used: told.used });
    } catch (error) {
      log.warn({ lineOaId, err: error }, 'LINE could not be asked how the month stands');
    }
  };

/** Somebody looks at a preview and waits. */
const LOOK_EVERY_MS = 1_000;
const ACCOUNTS_AT_ONCE = 20;
/** Longer than LINE is waited for. */
const LEASE_SECONDS = 15;

/** Asks LINE for those of whose month somebody wants to know, one process for each account. */
export const askWantedMonths =
  ({ db }: Pick<AskMonthDeps, 'db'>, ask: AskMonth) =>
  async (): Promise<void> => {
    const accounts = await takeWantedMonths(db, { leaseSeconds: LEASE_SECONDS, limit: ACCOUNTS_AT_ONCE });
    await Promise.all(accounts.map(ask));
  };

/** Answers previews, and gives what asks before a campaign starts. */
export function startAskingMonths(
  { db, log, metrics, onStop }: Worker,
  { config, channelAccessToken }: { config: Config } & Pick<AskMonthDeps, 'channelAccessToken'>,
): AskMonth {
  const line = createLineAccountClient({ baseUrl: config.LINE_API_URL });
  onStop('questions about months', () => line.close());
  const ask = askMonth({ db, line, log, channelAccessToken });
  const looking = every({
    name: 'wanted months',
    log,
    metrics,
    intervalMs: LOOK_EVERY_MS,
    jitter: 0.2,
    run: askWantedMonths({ db }, ask),
  });
  onStop('wanted months', () => looking.stop());
  return ask;
}

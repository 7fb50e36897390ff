import { unpauseAccount } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { sleep } from '@dueline/kernel';

const EVERY_MS = 1_000;

/** A person who ends what only a person may end: the pause of an account that LINE forbade something (F21). */
export function lookAfterAccounts(db: Db, tenants: readonly Tenant[]): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const look = async (): Promise<void> => {
    for (; !stopped.signal.aborted; await sleep(EVERY_MS, stopped.signal)) {
      for (const tenant of tenants) {
        const signed = { by: 'chaos', reason: 'LINE allows it again' };
        // The database may be away: then at the next look.
        await inTransaction(db, (tx) => unpauseAccount(tx, tenant, { ...signed, reasonCode: 'forbidden' })).catch(
          () => false,
        );
      }
    }
  };
  const looking = look();
  return {
    stop: async () => {
      stopped.abort();
      await looking;
    },
  };
}

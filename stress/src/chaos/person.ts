import { listAccountStates, unpauseAccount } from '@dueline/accounts';
import { type Db, inTransaction } from '@dueline/db';
import { wakeDeliveries } from '@dueline/deliveries';
import { sleep } from '@dueline/kernel';
import { wakeDue } from '@dueline/scheduled-actions';

const LOOKS_EVERY_MS = 1_500;

/** Somebody who puts right at LINE what it forbids an account, and lets the account go on, as `./dueline account unpause` does. */
export async function lookAfterAccounts(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const { organizationId, lineOaId, reasonCode } of await listAccountStates(db)) {
      if (reasonCode !== 'forbidden') continue;
      const tenant = { organizationId, lineOaId };
      await inTransaction(db, async (tx) => {
        if (await unpauseAccount(tx, tenant, { by: 'chaos', reason: null, reasonCode })) await wakeDue(tx);
      });
      await wakeDeliveries(db, tenant);
    }
    await sleep(LOOKS_EVERY_MS, signal);
  }
}

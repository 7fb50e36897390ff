import { type Pause, type PauseReason, pauseAccount, unpauseAccount } from '@dueline/accounts';
import { closeAttention, openAttention } from '@dueline/attention';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { wakeDeliveries } from '@dueline/deliveries';
import type { Log } from '@dueline/mq';
import { wakeDue } from '@dueline/scheduled-actions';

/** Who did it, in the audit trail, where it was no person. */
const SYSTEM = 'system';

/** Pauses accounts and lets them go on, with what a person and an operator see of it. */
export interface Pauses {
  /** One pause, however many find out at the same moment. */
  pause(tenant: Tenant, pause: Omit<Pause, 'by'>): Promise<void>;
  /** Ends the pause if it is still for this reason. */
  unpause(tenant: Tenant, ended: { readonly reasonCode: PauseReason; readonly reason: string }): Promise<void>;
}

export interface PausesDeps {
  readonly db: Db;
  readonly log: Log;
  readonly onPaused?: ((reasonCode: PauseReason) => void) | undefined;
  readonly onUnpaused?: ((reasonCode: PauseReason) => void) | undefined;
}

export const createPauses = ({ db, log, onPaused, onUnpaused }: PausesDeps): Pauses => ({
  async pause({ organizationId, lineOaId }, pause) {
    const tenant = { organizationId, lineOaId };
    const { reasonCode, reason, shortage } = pause;
    const isPaused = await inTransaction(db, async (tx) => {
      if (!(await pauseAccount(tx, tenant, { ...pause, by: SYSTEM }))) return false;
      const detail = { ...(reason !== null && { reason }), ...(shortage !== undefined && { wanted: shortage.wanted }) };
      const { quota = null, used = null } = shortage ?? {};
      const numbers = { ...(quota !== null && { quota }), ...(used !== null && { used }) };
      await openAttention(tx, [
        {
          ...{ ...tenant, kind: 'account_paused', refId: lineOaId, userId: null, reasonCode },
          detail: { ...detail, ...numbers },
        },
      ]);
      return true;
    });
    if (!isPaused) return;
    onPaused?.(reasonCode);
    log.warn({ lineOaId, reasonCode, reason }, 'an account is paused');
  },

  async unpause({ organizationId, lineOaId }, { reasonCode, reason }) {
    const tenant = { organizationId, lineOaId };
    const isFree = await inTransaction(db, async (tx) => {
      if (!(await unpauseAccount(tx, tenant, { by: SYSTEM, reason, reasonCode }))) return false;
      await closeAttention(tx, tenant, {
        ...{ kind: 'account_paused', refIds: [lineOaId] },
        ...{ status: 'resolved', closedBy: SYSTEM, resolution: reason },
      });
      await wakeDue(tx);
      return true;
    });
    if (!isFree) return;
    onUnpaused?.(reasonCode);
    const woken = await wakeDeliveries(db, tenant);
    log.info({ lineOaId, reasonCode, reason, deliveries: woken }, 'the pause of an account is over');
  },
});

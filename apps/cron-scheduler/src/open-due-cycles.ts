import { openAttention } from '@dueline/attention';
import { scheduledTriggerFire } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import type { Broker } from '@dueline/mq';
import { announceCycles, openCycles, planSchedules, unpublishCycles } from '@dueline/scheduled-cycles';
import { publishTickets } from '@dueline/worker-app';

/** Rules per call: few, so that no transaction holds many schedules. */
const BATCH = 50;

interface OpenCyclesDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'publish' | 'state'>;
  readonly againAfterSeconds: number;
  readonly onOpened: (result: 'opened' | 'skipped', count: number) => void;
}

/**
 * Plans the schedules that are new or changed, and opens the cycles whose time has come.
 *
 * @returns True when there may be more.
 */
export const openDueCycles =
  ({ db, onOpened }: Pick<OpenCyclesDeps, 'db' | 'onOpened'>) =>
  async (): Promise<boolean> => {
    const planned = await planSchedules(db, {
      onProblem: (tx, { triggerRuleId, problem, ...tenant }) =>
        openAttention(tx, [
          {
            ...tenant,
            kind: 'rule_failed',
            refId: triggerRuleId,
            userId: null,
            reasonCode: 'schedule_invalid',
            detail: { problem },
          },
        ]),
    });
    const { opened, skipped, looked } = await openCycles(db, { limit: BATCH });
    if (opened > 0) onOpened('opened', opened);
    if (skipped > 0) onOpened('skipped', skipped);
    return planned > 0 || looked === BATCH;
  };

/**
 * Publishes tickets of cycles that wait for a reader on scheduled_trigger_fire. None while the broker is away; what it does not confirm is
 * announced again by the next call.
 */
export const announceOpenCycles =
  ({ db, broker, againAfterSeconds }: Pick<OpenCyclesDeps, 'db' | 'broker' | 'againAfterSeconds'>) =>
  async (): Promise<void> => {
    if (broker.state() !== 'ready') return;
    const tickets = await announceCycles(db, { limit: BATCH, againAfterSeconds });
    await unpublishCycles(db, await publishTickets(broker, scheduledTriggerFire, tickets));
  };

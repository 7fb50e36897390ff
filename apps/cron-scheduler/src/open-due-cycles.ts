import { openAttention } from '@dueline/attention';
import { scheduledTriggerFire } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import type { Broker } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';
import { announceCycles, openCycles, planSchedules, unpublishCycles } from '@dueline/scheduled-cycles';
import { publishTickets } from '@dueline/worker-app';

/** Rules per call: few, so that no transaction holds many schedules. */
const BATCH = 50;

interface OpenCyclesDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'publish' | 'state'>;
  readonly againAfterSeconds: number;
  readonly onOpened: (result: 'opened' | 'skipped', count: number) => void;
  /** Told how late a cycle was opened, in seconds. */
  readonly onLate?: ((seconds: number) => void) | undefined;
  readonly reach?: Reach | undefined;
}

/**
 * Plans the schedules that are new or changed, and opens the cycles whose time has come.
 *
 * @returns True when there may be more.
 */
export const openDueCycles =
  ({ db, onOpened, onLate, reach }: Pick<OpenCyclesDeps, 'db' | 'onOpened' | 'onLate' | 'reach'>) =>
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
    const { opened, skipped, lateSeconds, looked } = await openCycles(db, {
      limit: BATCH,
      onWritten: () => reach?.('open_cycle.opening'),
    });
    if (opened > 0) reach?.('open_cycle.opened');
    if (opened > 0) onOpened('opened', opened);
    for (const seconds of lateSeconds) onLate?.(seconds);
    if (skipped > 0) onOpened('skipped', skipped);
    return planned > 0 || looked === BATCH;
  };

/**
 * Publishes tickets of cycles that wait for a reader on scheduled_trigger_fire. None while the broker is away; what it does not confirm is
 * announced again by the next call.
 */
export const announceOpenCycles =
  ({ db, broker, againAfterSeconds, reach }: Omit<OpenCyclesDeps, 'onOpened'>) =>
  async (): Promise<void> => {
    if (broker.state() !== 'ready') return;
    const tickets = await announceCycles(db, { limit: BATCH, againAfterSeconds });
    if (tickets.length > 0) reach?.('announce_cycle.claimed');
    const failed = await publishTickets(broker, scheduledTriggerFire, tickets);
    if (tickets.length > 0) reach?.('announce_cycle.published');
    await unpublishCycles(db, failed);
  };

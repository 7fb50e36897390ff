import { parseConfig, seconds, variable } from '@dueline/runtime';
import { batchSize } from '@dueline/scheduled-actions';
import {
  claimLeaseSeconds,
  directDatabaseUrl,
  listenForDue,
  reapIntervalSeconds,
  waitGrace,
  workerConfig,
} from '@dueline/worker-app';
import { z } from 'zod';

/** Thirteen, so that this month can be compared with that of last year. */
const KEPT_MONTHS = 13;
const months = (description: string) =>
  z.coerce.number().int().min(0).max(1_200).default(KEPT_MONTHS).describe(description);

const fields = workerConfig.extend({
  DATABASE_URL_DIRECT: directDatabaseUrl,
  LISTEN_FOR_DUE: listenForDue,
  WAIT_GRACE_SECONDS: waitGrace,
  QUEUE_PROFILE: z
    .stringbool()
    .default(true)
    .describe('Whether due actions are claimed here and announced on scheduled_action_fire.'),
  INLINE_HEAD_START_MS: z.coerce
    .number()
    .min(0)
    .max(60_000)
    .default(15)
    .describe(
      'How long a due action is left to the inline profile of trigger-worker before it is claimed here; 0 where that is off.',
    ),
  QUEUE_AHEAD: z.coerce
    .number()
    .int()
    .min(1)
    .default(5_000)
    .describe(
      'Actions claimed and not decided yet, at most: a ticket must not wait in the queue longer than its lease.',
    ),
  CLAIM_BATCH: z.coerce.number().int().min(1).max(batchSize).default(batchSize).describe('Actions per claim.'),
  CLAIM_LEASE_SECONDS: claimLeaseSeconds,
  RELEASE_CHECK_SECONDS: seconds({
    default: 5,
    productionMinimum: 1,
    description: 'Seconds between two looks for tickets that are gone; nothing in the queue at two of them says so.',
  }),
  RELEASE_AFTER_SECONDS: seconds({
    default: 30,
    productionMinimum: 10,
    description: 'Seconds after its claim that an action whose ticket is gone is given back.',
  }),
  REAP_INTERVAL_SECONDS: reapIntervalSeconds,
  REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .describe('Redis, which lets one replica publish each campaign tick; without it every replica does, harmlessly.'),
  CAMPAIGN_TICK_INTERVAL_SECONDS: variable(z.coerce.number().int().min(1).max(60).default(60), {
    description: 'Whole seconds between two campaign ticks.',
    productionMinimum: 60,
  }),
  KEEP_HISTORY_MONTHS: months('Whole months for which the history of decisions (trigger_log) is kept; 0: for ever.'),
  KEEP_EVENTS_MONTHS: months(
    'Whole months for which decided events and changes of attributes are kept, of which explain and dry run tell; 0: for ever.',
  ),
  KEEP_WORK_MONTHS: variable(z.coerce.number().int().min(0).max(1_200).optional(), {
    description:
      'Whole months for which actions that ended are kept, with their deliveries, and deliveries of their own; not less than KEEP_EVENTS_MONTHS; 0: for ever.',
    defaultText: 'KEEP_EVENTS_MONTHS, and 13 at least',
  }),
  DELIVERY_ANNOUNCE_INTERVAL_SECONDS: seconds({
    default: 1,
    productionMinimum: 0.2,
    description: 'Seconds between two looks for deliveries that are due and were not announced.',
  }),
  DELIVERY_ANNOUNCE_AGAIN_SECONDS: seconds({
    default: 60,
    productionMinimum: 30,
    description:
      'Seconds after which a delivery that nobody took is announced again; doubles each time, up to ten minutes.',
  }),
});

/** A number of months as an amount of time: 0 is for ever. */
const asTime = (keptMonths: number): number => (keptMonths === 0 ? Number.POSITIVE_INFINITY : keptMonths);

export const configSchema = fields.superRefine(({ KEEP_WORK_MONTHS: work, KEEP_EVENTS_MONTHS: events }, context) => {
  if (work === undefined || asTime(work) >= asTime(events)) return;
  const problem = `is less than KEEP_EVENTS_MONTHS (${events === 0 ? '0: for ever' : events}): an event that is replayed would set off again what was removed`;
  context.addIssue({ code: 'custom', path: ['KEEP_WORK_MONTHS'], message: problem });
});

export type Config = z.output<typeof configSchema>;

export const loadConfig = (env: NodeJS.ProcessEnv): Config => parseConfig(configSchema, env);

/** Whole months for which ended work is kept: as said, else as long as events and {@link KEPT_MONTHS} at least; 0: for ever. */
export function keptWorkMonths({ KEEP_WORK_MONTHS: work, KEEP_EVENTS_MONTHS: events }: Config): number {
  return work ?? (events === 0 ? 0 : Math.max(events, KEPT_MONTHS));
}

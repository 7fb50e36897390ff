import { baseConfig, CRASH_AT_PATTERN, seconds, testOnly } from '@dueline/runtime';
import { z } from 'zod';

/** What every worker app is told besides its own settings. */
export const workerConfig = baseConfig.extend({
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .describe(
      'PostgreSQL; may go through a pooler in transaction mode that knows prepared statements (PgBouncer 1.21 or later).',
    ),
  DATABASE_MAX_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(1)
    .max(200)
    .default(10)
    .describe('Connections of this process.'),
  AMQP_URL: z.url({ protocol: /^amqps?$/ }).describe('RabbitMQ, with the vhost as its path.'),
  CRASH_AT: testOnly(
    z.string().regex(CRASH_AT_PATTERN, 'must be a crash point with its options'),
    'Where the process kills itself: `<point>`, `<point>:<n>` for the n-th time it is reached; with `=stop` it freezes.',
  ),
});
export type WorkerConfig = z.output<typeof workerConfig>;

/** Direct connection for LISTEN, which a pooler in transaction mode swallows. */
export const directDatabaseUrl = z
  .url({ protocol: /^postgres(ql)?$/ })
  .optional()
  .describe('PostgreSQL without a pooler, for LISTEN; DATABASE_URL when not given.');

/** How long a claim holds without news. Source of the default: the seeds' staleProcessingMinute, five minutes. */
export const claimLeaseSeconds = seconds({
  default: 300,
  productionMinimum: 300,
  description: 'Seconds that a claimed row is left to its worker before it is taken back.',
});

/** How often rows of dead workers are looked for. */
export const reapIntervalSeconds = seconds({
  default: 20,
  productionMinimum: 5,
  description: 'Seconds between two looks for rows whose worker died; jittered by a fifth.',
});

/** How long a campaign may give no sign of life. Source of the default: the seeds' reaper, 15 minutes. */
export const campaignStaleSeconds = seconds({
  default: 900,
  productionMinimum: 900,
  description: 'Seconds without a sign of life after which a campaign that is being sent is taken back.',
});

/** Whether a claimer LISTENs. */
export const listenForDue = z
  .stringbool()
  .default(true)
  .describe(
    'Whether this process LISTENs for rows that have become due; off, it finds them within a second. At most four replicas should.',
  );

/** How long a wait that is over is left to facts on their way. */
export const waitGrace = seconds({
  default: 15,
  productionMinimum: 5,
  description:
    'Seconds after its expiry that a wait is left to facts which happened in time and are still on their way.',
});

import { parseConfig, testOnly } from '@dueline/runtime';
import { batchSize } from '@dueline/scheduled-actions';
import { claimLeaseSeconds, directDatabaseUrl, listenForDue, waitGrace, workerConfig } from '@dueline/worker-app';
import { z } from 'zod';

export const configSchema = workerConfig.extend({
  DATABASE_URL_DIRECT: directDatabaseUrl,
  LISTEN_FOR_DUE: listenForDue,
  WAIT_GRACE_SECONDS: waitGrace,
  DATABASE_MAX_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(8) // one for each that decides (three lanes inline, one of events, two of each kind of queue), and one on which they say what is in hand
    .max(200)
    .default(10)
    .describe('Connections of this process.'),
  EVENT_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(8)
    .describe(
      'Messages of an event queue in hand at once; also the prefetch. Two transactions decide them, up to 200 events each.',
    ),
  FIRE_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(8)
    .describe(
      'Messages of a scheduled_action_fire queue in hand at once; also the prefetch. Two transactions decide them, up to 500 actions each.',
    ),
  INLINE_PROFILE: z
    .stringbool()
    .default(true)
    .describe('Whether this process also claims due actions and decides them itself.'),
  INLINE_BATCH: z.coerce.number().int().min(1).max(batchSize).default(100).describe('Actions per inline claim.'),
  CLAIM_LEASE_SECONDS: claimLeaseSeconds,
  CRASH_ON_USER: testOnly(z.string(), 'Whose rows kill the process that decides them: a LINE user id.'),
});

export type Config = z.output<typeof configSchema>;

export const loadConfig = (env: NodeJS.ProcessEnv): Config => parseConfig(configSchema, env);

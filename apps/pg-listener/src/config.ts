import { parseConfig, seconds } from '@dueline/runtime';
import { directDatabaseUrl, workerConfig } from '@dueline/worker-app';
import { z } from 'zod';

export const configSchema = workerConfig.extend({
  DATABASE_URL_DIRECT: directDatabaseUrl,
  OUTBOX_LEASE_SECONDS: seconds({
    default: 300,
    productionMinimum: 300,
    description: 'Seconds that an announced event is left to the consumers before it is announced again.',
  }),
  OUTBOX_BATCH: z.coerce.number().int().min(1).max(5_000).default(1_000).describe('Events announced in one step.'),
  OUTBOX_MAX_PUBLISHED: z.coerce
    .number()
    .int()
    .min(1)
    .default(20_000)
    .describe('Events announced and not decided yet, at most: a queue must not outgrow its consumers.'),
  INLINE_HEAD_START_MS: z.coerce
    .number()
    .min(0)
    .max(60_000)
    .default(50)
    .describe(
      'How long an event is left to the inline profile of trigger-worker before it is announced here; 0 where that is off. Crowds are not left to it.',
    ),
  OUTBOX_POLL_SECONDS: seconds({
    default: 1,
    productionMinimum: 0.2,
    description: 'Seconds between two looks without a notification: what a lost one costs.',
  }),
});

export type Config = z.output<typeof configSchema>;

export const loadConfig = (env: NodeJS.ProcessEnv): Config => parseConfig(configSchema, env);

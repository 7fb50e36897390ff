import { BREAKER_LIMITS } from '@dueline/accounts';
import { parseConfig, seconds, testOnly } from '@dueline/runtime';
import { campaignStaleSeconds, workerConfig } from '@dueline/worker-app';
import { z } from 'zod';

const KEY_BYTES = 32;

export const configSchema = workerConfig.extend({
  LINE_API_URL: z
    .url({ protocol: /^https?$/ })
    .default('https://api.line.me')
    .describe('Where LINE is; a simulator in tests.'),
  SECRETS_KEY: z
    .base64()
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((key) => key.length === KEY_BYTES, `must be ${KEY_BYTES} bytes in base64`)
    .describe('Key that opens channel access tokens: 32 bytes in base64.'),
  SEND_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(2_000)
    .default(100)
    .describe('Requests to LINE at once by this process.'),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .optional()
    .describe(
      'Redis, in which replicas share the rates that LINE allows; without it each keeps to its share by LINE_DELIVERY_REPLICAS.',
    ),
  LINE_DELIVERY_REPLICAS: z.coerce
    .number()
    .int()
    .min(1)
    .max(200)
    .default(2)
    .describe(
      'Replicas of line-delivery: while Redis is away each of them sends at so small a part of what LINE allows.',
    ),
  ATTEMPT_DEADLINE_SECONDS: seconds({
    default: 15,
    productionMinimum: 5,
    description: 'Seconds after which an attempt without an answer is given up; it counts as ambiguous.',
  }),
  SETTLE_MARGIN_SECONDS: seconds({
    default: 30,
    productionMinimum: 30,
    description:
      'Seconds beyond the deadline that an attempt without outcome is waited for before the key is used again.',
  }),
  LEASE_MARGIN_SECONDS: seconds({
    default: 60,
    productionMinimum: 60,
    description: 'Seconds beyond the deadline that a delivery belongs to the process that sends it.',
  }),
  WEBHOOK_DEADLINE_SECONDS: seconds({
    default: 5,
    productionMinimum: 1,
    description: 'Seconds after which a call of a webhook without an answer is given up; it counts as ambiguous.',
  }),
  WEBHOOK_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(40)
    .describe('Webhooks called at once by this process, of one account a quarter of them.'),
  WEBHOOK_ALLOW_LOOPBACK: testOnly(
    z.stringbool(),
    'Webhooks may call this machine too, and without TLS; they never call another private address.',
  ),
  PAUSED_LOOK_SECONDS: seconds({
    default: 60,
    productionMinimum: 10,
    description: 'Seconds between two looks whether LINE would serve a paused account again; jittered by a fifth.',
  }),
  BREAKER_OPEN_SECONDS: seconds({
    default: BREAKER_LIMITS.openSeconds,
    productionMinimum: 30,
    description: 'Seconds for which an account sends nothing after LINE refused five deliveries without a reason.',
  }),
  SENT_COUNT_INTERVAL_SECONDS: seconds({
    default: 600,
    productionMinimum: 60,
    description: 'Seconds between two looks for days whose counts at LINE are to be compared with ours.',
  }),
  SENT_COUNT_TOLERANCE_PERCENT: z.coerce
    .number()
    .min(0)
    .max(100)
    .default(2)
    .describe(
      'Of the people whom LINE should have counted on a day, so many may be missing before an item is opened (and always ten): who deleted or blocked without our knowing.',
    ),
  CAMPAIGN_STALE_SECONDS: campaignStaleSeconds,
  CAMPAIGN_ERROR_REQUESTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(20)
    .describe('Of so many of its last requests a campaign is judged; one with fewer never pauses itself.'),
  CAMPAIGN_ERROR_PERCENT: z.coerce
    .number()
    .min(0)
    .max(100)
    .default(50)
    .describe(
      'A campaign pauses itself when LINE refused more than so many in a hundred of these requests; 100: never.',
    ),
  CAMPAIGN_CLOSE_INTERVAL_SECONDS: seconds({
    default: 30,
    productionMinimum: 5,
    description: 'Seconds between two looks for campaigns that are finished and not closed.',
  }),
});

export type Config = z.output<typeof configSchema>;

export const loadConfig = (env: NodeJS.ProcessEnv): Config => parseConfig(configSchema, env);

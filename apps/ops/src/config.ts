import type { RoutedApp } from '@dueline/contracts';
import { APPS_WITH_ROLES, type AppWithRole } from '@dueline/db';
import { ROUTED_APPS } from '@dueline/mq';
import { parseConfig } from '@dueline/runtime';
import { z } from 'zod';

const databaseUrl = z.url({ protocol: /^postgres(ql)?$/ });
const amqpUrl = z.url({ protocol: /^amqps?$/ });

const KEY_BYTES = 32;

export const migrateSchema = z.object({
  DATABASE_URL_DIRECT: databaseUrl.optional().describe('PostgreSQL without a pooler; DATABASE_URL when not given.'),
  DATABASE_URL: databaseUrl.describe('PostgreSQL, with the rights of the owner of the schema.'),
});

export const topologySchema = z.object({
  AMQP_URL: amqpUrl.describe('RabbitMQ with the vhost as its path, with configure rights.'),
  AMQP_MANAGEMENT_URL: z
    .url({ protocol: /^https?$/ })
    .describe('Management API of the same broker, e.g. https://user:password@host:15671/api.'),
});

const spelt = (app: string): string => app.toUpperCase().replaceAll('-', '_');
/** The variable that holds the URL by which an app reaches the database. */
export const databaseUrlOf = (app: AppWithRole): string => `${spelt(app)}_DATABASE_URL`;
/** The variable that holds the URL by which an app reaches the broker. */
export const amqpUrlOf = (app: RoutedApp): string => `${spelt(app)}_AMQP_URL`;

const withLogin = (url: z.ZodURL, description: string) =>
  url
    .refine((text) => {
      if (!URL.canParse(text)) return true; // said already
      const { username, password } = new URL(text);
      return username !== '' && password !== '';
    }, 'names no user, or no password')
    .optional()
    .describe(description);

/** What `logins` reads beside what `migrate` and `topology` read. */
export const loginsSchema = z.object(
  Object.fromEntries([
    ...APPS_WITH_ROLES.map((app) => [
      databaseUrlOf(app),
      withLogin(
        databaseUrl,
        `DATABASE_URL of ${app}: its user and password are made. Not given, its login is left alone.`,
      ),
    ]),
    ...ROUTED_APPS.map((app) => [
      amqpUrlOf(app),
      withLogin(amqpUrl, `AMQP_URL of ${app}: its user and password are made. Not given, its user is left alone.`),
    ]),
  ]) as Record<string, ReturnType<typeof withLogin>>,
);

const seconds = (byDefault: number, description: string) =>
  z.coerce.number().min(0).max(31_536_000).default(byDefault).describe(description);

export const auditSchema = z.object({
  DATABASE_URL: databaseUrl.describe('PostgreSQL, with the right to read; a replica will do.'),
  AUDIT_LEASE_OVER_SECONDS: seconds(
    60,
    'Seconds that a lease may be over before its row is taken back: two reap intervals.',
  ),
  AUDIT_SILENT_SECONDS: seconds(
    900,
    'Seconds that a campaign may give no sign of life before it is taken back: CAMPAIGN_STALE_SECONDS.',
  ),
  AUDIT_OVERDUE_SECONDS: seconds(300, 'Seconds that something due may wait to be claimed or announced.'),
  AUDIT_HISTORY_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3_650)
    .default(31)
    .describe('Days of ended rows that are looked at.'),
});

export const actionsSchema = z.object({
  DATABASE_URL: databaseUrl.describe('PostgreSQL, with the rights of the owner of the schema.'),
});

export const accountSchema = z.object({
  DATABASE_URL: databaseUrl.describe('PostgreSQL, with the right to write.'),
  SECRETS_KEY: z
    .base64()
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((key) => key.length === KEY_BYTES, `must be ${KEY_BYTES} bytes in base64`)
    .optional()
    .describe('Key that seals the credentials of an account, the same as that of line-delivery: 32 bytes in base64.'),
});

export const loadMigrateConfig = (env: NodeJS.ProcessEnv) => parseConfig(migrateSchema, env);
export const loadTopologyConfig = (env: NodeJS.ProcessEnv) => parseConfig(topologySchema, env);
export const loadLoginsConfig = (env: NodeJS.ProcessEnv) => parseConfig(loginsSchema, env);
export const loadAuditConfig = (env: NodeJS.ProcessEnv) => parseConfig(auditSchema, env);
export const loadActionsConfig = (env: NodeJS.ProcessEnv) => parseConfig(actionsSchema, env);
export const loadAccountConfig = (env: NodeJS.ProcessEnv) => parseConfig(accountSchema, env);

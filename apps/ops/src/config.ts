import { parseConfig } from '@dueline/runtime';
import { z } from 'zod';

const databaseUrl = z.url({ protocol: /^postgres(ql)?$/ });

export const migrateSchema = z.object({
  DATABASE_URL_DIRECT: databaseUrl.optional().describe('PostgreSQL without a pooler; DATABASE_URL when not given.'),
  DATABASE_URL: databaseUrl.describe('PostgreSQL, with the rights of the owner of the schema.'),
});

export const topologySchema = z.object({
  AMQP_URL: z.url({ protocol: /^amqps?$/ }).describe('RabbitMQ with the vhost as its path, with configure rights.'),
  AMQP_MANAGEMENT_URL: z
    .url({ protocol: /^https?$/ })
    .describe('Management API of the same broker, e.g. https://user:password@host:15671/api.'),
});

export const loadMigrateConfig = (env: NodeJS.ProcessEnv) => parseConfig(migrateSchema, env);
export const loadTopologyConfig = (env: NodeJS.ProcessEnv) => parseConfig(topologySchema, env);

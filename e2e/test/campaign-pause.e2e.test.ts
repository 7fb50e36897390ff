import { join } from 'node:path';
import { missingServers, startKillable } from '@dueline/local-services';
import { pauseForAnHour, runCampaigns } from '@dueline/stress';
import { expect, test } from 'vitest';
import { EVERYBODY_ONCE } from './stress-support.ts';
import { ROOT } from './support.ts';

const missing = missingServers(process.env);
const reason = missing.length > 0 ? ` (not installed here: ${missing.join(', ')})` : '';
const PEOPLE = 10_000;

test.skipIf(missing.length > 0)(
  `paused for an hour in which every app, PostgreSQL, RabbitMQ and Redis start again, then resumed: everybody once${reason}`,
  { timeout: 300_000 },
  async () => {
    const services = await startKillable({ stateFolder: join(ROOT, '.dueline'), env: process.env });
    const { databaseUrl, amqpUrl, amqpManagementUrl, redisUrl } = services.urls;
    const servers = [services.postgres, services.rabbitmq, services.redis];
    const urls = {
      ...{ DATABASE_URL: databaseUrl, AMQP_URL: amqpUrl, AMQP_MANAGEMENT_URL: amqpManagementUrl, REDIS_URL: redisUrl },
      DUELINE_SERVICES: 'environment',
    };
    try {
      const result = await runCampaigns({
        ...{ seed: 1, recipients: PEOPLE, campaigns: 2, share: 0.1, latencyMs: 300, kills: 0 },
        ...{ env: { ...process.env, ...urls }, tell: () => undefined, interrupted: new AbortController().signal },
        act: pauseForAnHour(async () => {
          for (const server of servers) await server.stop('SIGKILL');
          for (const server of servers) await server.start();
        }),
      });

      expect(result).toMatchObject(EVERYBODY_ONCE);
      for (const doubt of ['unknown', 'expired', 'cancelled']) expect(result.states).not.toHaveProperty(doubt);
      const [stop] = result.stops;
      expect(stop).toMatchObject({ verb: 'pause', lid: 'c:0' });
      expect(stop?.begunBefore).toBeGreaterThan(0);
      expect(stop?.begunBefore).toBeLessThan(PEOPLE / 500);
    } finally {
      await services.stop();
    }
  },
);

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missingServers, type PrivateServices, startKillable } from '../src/index.ts';
import { canConnect } from '../src/ports.ts';

const env = { PATH: '/usr/bin:/bin' };
const missing = missingServers(env);
const reason = missing.length > 0 ? ` (not installed here: ${missing.join(', ')})` : '';

describe.skipIf(missing.length > 0)(`servers of one's own${reason}`, () => {
  let stateFolder: string;
  let services: PrivateServices;
  beforeAll(async () => {
    stateFolder = mkdtempSync(join(tmpdir(), 'dueline-restart-'));
    services = await startKillable({ stateFolder, env });
  }, 120_000);
  afterAll(async () => {
    await services?.stop();
    rmSync(stateFolder, { recursive: true });
  });

  const answers = (url: string) => {
    const { hostname, port } = new URL(url);
    return canConnect({ host: hostname, port: Number(port), timeoutMs: 2_000 });
  };

  test.for(['SIGKILL', 'SIGQUIT', 'SIGINT'] as const)(
    'PostgreSQL ended by %s is there again at the same port, with everything that was committed until the last moment',
    async (how) => {
      const { urls, postgres } = services;
      const table = `kept_${how.toLowerCase()}`;
      const client = await connect(urls.databaseUrl);
      client.on('error', () => undefined); // its end is what the test is about
      await client.query(`create table ${table} (n int)`);
      await client.query(`insert into ${table} values (1)`);
      await postgres.stop(how);
      expect(await answers(urls.databaseUrl)).toBe(false);

      await postgres.start();

      const again = await connect(urls.databaseUrl);
      expect((await again.query(`select n from ${table}`)).rows).toEqual([{ n: 1 }]);
      await again.end();
    },
  );

  test('RabbitMQ that was killed is there again at the same port, with its vhosts', { timeout: 90_000 }, async () => {
    const { urls, rabbitmq } = services;
    const url = new URL(`${urls.amqpManagementUrl}/vhosts/kept`);
    const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`;
    url.username = '';
    url.password = '';
    const ask = async (method: string) => (await fetch(url, { method, headers: { authorization } })).status;
    expect(await ask('PUT')).toBe(201);
    await rabbitmq.stop('SIGKILL');
    expect(await answers(urls.amqpUrl)).toBe(false);

    await rabbitmq.start();

    expect(await answers(urls.amqpUrl)).toBe(true);
    expect(await ask('GET')).toBe(200);
  });

  test('Redis that is frozen accepts and does not answer, until it is thawed; flushed and killed, it comes back empty', async () => {
    const { urls, redis } = services;
    redis.freeze();
    expect(await answers(urls.redisUrl)).toBe(true);
    const flushing = redis.flush();
    const first = await Promise.race([flushing.then(() => 'answered'), later('silent')]);
    expect(first).toBe('silent');
    redis.thaw();
    await flushing;

    await redis.stop('SIGKILL');
    expect(await answers(urls.redisUrl)).toBe(false);
    await expect(redis.flush()).rejects.toThrow('was not flushed');
    await redis.start();
    await redis.start(); // does nothing to one that runs
    await redis.flush();
  });
});

const later = (word: string) => new Promise<string>((resolve) => setTimeout(resolve, 500, word));

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

import { expect, test } from 'vitest';
import { freePort } from '../src/index.ts';
import { unreachable, urlsFromEnvironment } from '../src/urls.ts';

const all = {
  DATABASE_URL: 'postgres://127.0.0.1:1/postgres',
  AMQP_URL: 'amqp://127.0.0.1:1',
  AMQP_MANAGEMENT_URL: 'http://127.0.0.1:1/api',
  REDIS_URL: 'redis://127.0.0.1:1',
};

test('an environment without service URLs says nothing', () => {
  expect(urlsFromEnvironment({ PATH: '/bin', REDIS_URL: '' })).toBeUndefined();
});

test('an environment with all four URLs is taken as it is', () => {
  expect(urlsFromEnvironment(all)).toEqual({
    databaseUrl: all.DATABASE_URL,
    amqpUrl: all.AMQP_URL,
    amqpManagementUrl: all.AMQP_MANAGEMENT_URL,
    redisUrl: all.REDIS_URL,
  });
});

test('an environment with some of the URLs is refused, and the missing ones are named', () => {
  const partial = { DATABASE_URL: all.DATABASE_URL, REDIS_URL: all.REDIS_URL };

  expect(() => urlsFromEnvironment(partial)).toThrow(/not AMQP_URL, AMQP_MANAGEMENT_URL:/);
});

test('a URL where nothing listens is named without its password', async () => {
  const port = await freePort();
  const urls = {
    databaseUrl: `postgres://someone:secret@127.0.0.1:${port}/postgres`,
    amqpUrl: 'nonsense',
    amqpManagementUrl: 'gopher://127.0.0.1',
    redisUrl: `redis://127.0.0.1:${port}`,
  };

  expect(await unreachable(urls)).toEqual([
    `DATABASE_URL: nothing answers at 127.0.0.1 port ${port}`,
    'AMQP_URL is not a URL',
    'AMQP_MANAGEMENT_URL: gopher: is not a protocol we know',
    `REDIS_URL: nothing answers at 127.0.0.1 port ${port}`,
  ]);
});

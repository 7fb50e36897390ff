import { randomInt } from 'node:crypto';
import {
  type AppLogins,
  addDatabaseLogins,
  newAppLogins,
  removeDatabaseLogins,
  type ServiceUrls,
} from '@dueline/local-services';
import { grantBrokerUsers, ROUTED_APPS, removeBrokerUsers } from '@dueline/mq';
import pg from 'pg';
import { manageRabbit } from './rabbitmq.ts';

/** Redis' own default. */
const REDIS_DATABASES = 16;

/** A database and a vhost of one run's own, on servers that others may use too. */
export interface Place {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  readonly amqpManagementUrl: string;
  /** One of Redis' numbered databases, so that a run beside this one hardly takes its ticks. */
  readonly redisUrl: string;
  /** By what each app logs in, with its own rights and no others; the URLs above are those of the owner. */
  readonly logins: AppLogins;
  /** Drops database, vhost and logins. */
  remove(): Promise<void>;
}

export async function createPlace(urls: ServiceUrls, name: string): Promise<Place> {
  const databaseUrl = new URL(urls.databaseUrl);
  databaseUrl.pathname = `/${name}`;
  const amqpUrl = new URL(urls.amqpUrl);
  amqpUrl.pathname = `/${name}`;
  const redisUrl = new URL(urls.redisUrl);
  redisUrl.pathname = `/${randomInt(REDIS_DATABASES)}`;
  const logins = newAppLogins(name);
  await administer(urls.databaseUrl, `create database ${name}`);
  await addDatabaseLogins(urls.databaseUrl, logins);
  await manageRabbit(urls.amqpManagementUrl, 'PUT', `/vhosts/${name}`); // its creator has full rights on it
  const broker = { url: amqpUrl.href, managementUrl: urls.amqpManagementUrl };
  await grantBrokerUsers(
    broker,
    ROUTED_APPS.map((app) => ({ app, ...logins[app] })),
  );
  return {
    databaseUrl: databaseUrl.href,
    amqpUrl: amqpUrl.href,
    amqpManagementUrl: urls.amqpManagementUrl,
    redisUrl: redisUrl.href,
    logins,
    remove: async () => {
      await manageRabbit(urls.amqpManagementUrl, 'DELETE', `/vhosts/${name}`);
      await removeBrokerUsers(
        broker,
        ROUTED_APPS.map((app) => logins[app].user),
      );
      await administer(urls.databaseUrl, `drop database ${name} with (force)`);
      await removeDatabaseLogins(urls.databaseUrl, logins);
    },
  };
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

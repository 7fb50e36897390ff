import { randomBytes } from 'node:crypto';
import { APPS_WITH_ROLES, openDatabase } from '@dueline/db';
import { type TestDb, testDb } from '@dueline/db/testing';
import { ROUTED_APPS, removeBrokerUsers } from '@dueline/mq';
import { type TestVhost, testVhost } from '@dueline/mq/testing';
import { connect } from 'amqplib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amqpUrlOf, databaseUrlOf } from '../src/config.ts';
import { applyLogins } from '../src/logins.ts';

const id = randomBytes(4).toString('hex');
const nameOf = (app: string): string => `test-${id}-${app}`;
let own: TestDb;
let vhost: TestVhost;

const as = (url: string, username: string, password: string): string =>
  Object.assign(new URL(url), { username, password }).href;
/** What `migrate` and `topology` are told, and what each app is. */
const environment = (password: string, apps: readonly string[] = APPS_WITH_ROLES): NodeJS.ProcessEnv => ({
  DATABASE_URL: own.url,
  AMQP_URL: vhost.url,
  AMQP_MANAGEMENT_URL: vhost.managementUrl,
  ...Object.fromEntries(
    APPS_WITH_ROLES.filter((app) => apps.includes(app)).map((app) => [
      databaseUrlOf(app),
      as(own.url, nameOf(app), password),
    ]),
  ),
  ...Object.fromEntries(
    ROUTED_APPS.filter((app) => apps.includes(app)).map((app) => [
      amqpUrlOf(app),
      as(vhost.url, nameOf(app), password),
    ]),
  ),
});

const say = async (env: NodeJS.ProcessEnv): Promise<string> => {
  const lines: string[] = [];
  await applyLogins(env, (line) => lines.push(line)).catch((error: unknown) => lines.push(String(error)));
  return lines.join('\n');
};

async function logIn(url: string): Promise<void> {
  const database = openDatabase({ url, applicationName: 'test', maxConnections: 1, onError: () => undefined });
  try {
    await database.db.$client.query('select');
  } finally {
    await database.close();
  }
}

/** Whether whoever has this URL is let in. */
async function isLetIn(url = ''): Promise<boolean> {
  try {
    if (url.startsWith('amqp')) await (await connect(url)).close();
    else await logIn(url);
    return true;
  } catch (error) {
    expect(String(error)).toMatch(/authentication failed|ACCESS_REFUSED/);
    return false;
  }
}

beforeAll(async () => {
  own = await testDb();
  vhost = await testVhost({ queues: [] });
});
afterAll(async () => {
  await own.db.$client.query(APPS_WITH_ROLES.map((app) => `drop role if exists "${nameOf(app)}"`).join(';'));
  await removeBrokerUsers(vhost, ROUTED_APPS.map(nameOf));
  await vhost[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

test('each app is let in by its URLs; once these have other passwords, by the new ones only', async () => {
  const [before, after] = [environment('first'), environment('second')];
  const names = [...APPS_WITH_ROLES.map(databaseUrlOf), ...ROUTED_APPS.map(amqpUrlOf)];
  const letIn = async (env: NodeJS.ProcessEnv) => new Set(await Promise.all(names.map((name) => isLetIn(env[name]))));

  expect(await say(before)).toBe(
    `the database knows ${APPS_WITH_ROLES.join(', ')}; the broker knows ${ROUTED_APPS.join(', ')}`,
  );
  expect(await letIn(before)).toEqual(new Set([true]));
  expect(await say(after)).not.toContain('Error');
  expect([await letIn(before), await letIn(after)]).toEqual([new Set([false]), new Set([true])]);
});

test('an app without a URL is left alone', async () => {
  await say(environment('first'));
  expect(await say(environment('second', ['ops']))).toBe('the database knows ops; the broker knows no app');
  const before = environment('first');
  expect(await isLetIn(before[databaseUrlOf('ops')])).toBe(false);
  expect(await isLetIn(before[databaseUrlOf('pg-listener')])).toBe(true);
  expect(await say(environment('second', []))).toMatch(
    /^PermanentError: no app's URL is given: PG_LISTENER_DATABASE_URL/,
  );
});

test("what prepares the servers is nobody's login, and no two apps share one", async () => {
  const env = environment('first');
  const database = databaseUrlOf('pg-listener');
  const broker = amqpUrlOf('pg-listener');
  expect(await say({ ...env, [database]: own.url })).toMatch(
    /at the database, pg-listener and whoever prepares it are both/,
  );
  expect(await say({ ...env, [broker]: vhost.url })).toMatch(
    /at the broker, pg-listener and whoever prepares it are both/,
  );
  expect(await say({ ...env, [broker]: env[amqpUrlOf('trigger-worker')] })).toMatch(
    /trigger-worker and pg-listener are both/,
  );
  const { host, pathname } = new URL(own.url);
  expect(await say({ ...env, [database]: `postgres://pg_listener:@${host}${pathname}` })).toMatch(
    /PG_LISTENER_DATABASE_URL: names no user, or no password/,
  );
});

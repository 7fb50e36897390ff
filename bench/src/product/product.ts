import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createLineOa, createOrganization } from '@dueline/accounts';
import { QUEUES, type Tenant } from '@dueline/contracts';
import { type Database, type Db, migrate, openDatabase, type SQL, sql } from '@dueline/db';
import { type AppName, createPlace, type Place, startApp } from '@dueline/demo';
import { declareTopology } from '@dueline/mq';
import { createRule } from '@dueline/trigger-rules';
import { createApps, type Running } from './running.ts';
import { SILENT } from './silent.ts';
import type { Stage } from './stage.ts';

/** An account with a rule, to which all of its actions belong. */
export interface Account extends Tenant {
  readonly ruleId: string;
}

/** A database and a vhost in which our own apps run; empty but for its accounts and people. */
export interface Product {
  readonly place: Place;
  readonly database: Database;
  readonly accounts: readonly Account[];
  /** Starts apps as in production, but for `env`; resolves when they are ready. */
  start(env: Readonly<Record<string, string>>, names?: readonly AppName[]): Promise<Running>;
  /** Rejects when an app ends by itself; never resolves. */
  readonly broken: Promise<never>;
  /** Stops every app that is left, and removes what they ran in. */
  close(): Promise<void>;
}

/** People of each account: actions are for one after the other. */
export const PEOPLE = 10_000;
/** The n-th person, here and as SQL. */
export const userOf = (n: number): string => `U${n.toString(16).padStart(32, '0')}`;
export const userOfNumber = (n: SQL): SQL => sql`'U' || lpad(to_hex(${n}), 32, '0')`;
/** What an action re-checks when it comes due; it holds for everybody. */
export const CONDITION = { attribute: 'city', to: 'Oslo' };
/** Who claims, decides and hands over. LINE is not a part of what is measured, so what talks to it does not run. */
const APPS: readonly AppName[] = ['cron-scheduler', 'trigger-worker'];
const NO_LINE = 'http://127.0.0.1:9';

export async function openProduct(
  { services, stateFolder, tell }: Stage,
  { name, accounts: count }: { name: string; accounts: number },
): Promise<Product> {
  const id = randomBytes(3).toString('hex');
  const place = await createPlace(services.urls, `dueline_bench_${name}_${id}`);
  await migrate({ url: place.databaseUrl });
  await declareTopology({ url: place.amqpUrl, managementUrl: place.amqpManagementUrl, queues: QUEUES, log: SILENT });
  const database = openDatabase({
    url: place.databaseUrl,
    applicationName: 'bench',
    maxConnections: 24,
    statementTimeoutMs: 1_800_000, // filling 5 million rows
    onError: (error) => tell(`database: ${String(error)}`),
  });
  const secretsKey = randomBytes(32);
  const accounts = await seedAccounts(database.db, { count, secretsKey });
  const logFolder = join(stateFolder, 'logs', `bench-${id}`);
  mkdirSync(logFolder, { recursive: true });
  const settings = { ...place, lineApiUrl: NO_LINE, secretsKey: secretsKey.toString('base64'), logFolder };
  const apps = createApps();
  const start = (env: Readonly<Record<string, string>>, names = APPS): Promise<Running> =>
    apps.start(names, (name) => startApp(name, { ...settings, asInProduction: true, env }));
  const close = async () => {
    await apps.stopAll();
    await database.close();
    await place.remove();
  };
  return { place, database, accounts, start, broken: apps.broken, close };
}

async function seedAccounts(db: Db, { count, secretsKey }: { count: number; secretsKey: Buffer }): Promise<Account[]> {
  const accounts: Account[] = [];
  for (let number = 0; number < count; number += 1) {
    const organizationId = await createOrganization(db, { name: `bench ${number}` });
    const channelId = String(3_200_000_000 + number);
    const tenant = await createLineOa(db, {
      ...{ organizationId, channelId, name: 'bench', timezone: 'Asia/Bangkok' },
      ...{ channelAccessToken: `bench-token-${number}`, secretsKey },
    });
    await db.execute(sql`
      insert into line_user (organization_id, line_oa_id, user_id, attributes)
      select ${tenant.organizationId}, ${tenant.lineOaId}, ${userOfNumber(sql`n`)}, '{"city": "Oslo", "points": 7}'
        from generate_series(0, ${PEOPLE}::int - 1) as n`);
    const ruleId = await createRule(db, tenant, {
      name: 'bench',
      sourceType: 'attribute_changed',
      sourceConfig: CONDITION,
      actionType: 'send_message',
      actionConfig: { messages: [{ type: 'text', text: MESSAGE }] },
      frequency: 'every_time',
      cooldownSeconds: 0,
    });
    accounts.push({ ...tenant, ruleId });
  }
  await db.$client.query('vacuum analyze line_user');
  return accounts;
}

/** About 500 bytes, as the rows of the other queues have. */
export const MESSAGE = 'Your table is waiting, and so is the soup of the day. '.repeat(8);

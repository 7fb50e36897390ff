import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { type Db, openDatabase } from '@dueline/db';
import { type App, type AppName, type Stack, startStack } from '@dueline/demo';
import { createAudience } from '@dueline/recipients';
import { createRule, deleteRule } from '@dueline/trigger-rules';
import { serviceEnvironment } from '../support.ts';
import type { PlacedRule } from './compare.ts';
import { insertPeople, preparePeople } from './people.ts';
import { type Audiences, liveRules, observing, rulesOfOthers, sleeping } from './rules.ts';
import { unhurried } from './unhurried.ts';

/** Short leases, and little under way at once, so that whoever dies has something in hand. */
const SETTINGS = {
  OUTBOX_LEASE_SECONDS: '5',
  OUTBOX_BATCH: '200',
  OUTBOX_MAX_PUBLISHED: '2000',
  CLAIM_LEASE_SECONDS: '5',
};
const REPLICAS: readonly AppName[] = ['pg-listener', 'pg-listener', 'trigger-worker', 'trigger-worker'];

/** A running Dueline with people and rules, and the means to kill it. */
export interface Stage extends AsyncDisposable {
  readonly stack: Stack;
  /** Connections whose statements may take an hour: some are over everybody. */
  readonly db: Db;
  readonly rules: readonly PlacedRule[];
  /** Kills all replicas of an app at once and starts as many again. */
  kill(name: AppName): Promise<void>;
}

export async function setStage(people: number): Promise<Stage> {
  const stack = await startStack({ env: serviceEnvironment(), channels: [], tell: () => undefined, appEnv: SETTINGS });
  const { db, close } = openDatabase({
    ...{ url: stack.databaseUrl, applicationName: 'proof', maxConnections: 4, statementTimeoutMs: 3_600_000 },
    onError: () => undefined, // the statement in hand throws
  });
  const stop = async () => {
    await close();
    await stack.stop();
  };
  try {
    for (const [name, app] of stack.apps) if (name !== 'cron-scheduler') await app.stop();
    const rules = await fill(stack, db, people);
    return { stack, db, rules, kill: await startReplicas(stack), [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function fill(stack: Stack, db: Db, people: number): Promise<PlacedRule[]> {
  await preparePeople(db, people);
  const own = await createTenant(stack, 'own');
  const other = await createTenant(stack, 'other');
  await insertPeople(db, own, people);
  await insertPeople(db, other, people / 20);
  return [...(await createRules(db, own)), ...(await placeRules(db, other, rulesOfOthers))];
}

async function createTenant(stack: Stack, name: string): Promise<Tenant> {
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name });
  const account = {
    organizationId,
    channelId: name === 'own' ? '3000000014' : '3000000015',
    channelAccessToken: name,
    name,
  };
  return createLineOa(db, { ...account, timezone: 'Asia/Bangkok', secretsKey: stack.secretsKey });
}

async function createRules(db: Db, tenant: Tenant): Promise<PlacedRule[]> {
  const audience = (name: string) => createAudience(db, tenant, { name });
  const audiences: Audiences = {
    ...{ fixed: await audience('fixed'), joined: await audience('joined'), left: await audience('left') },
  };
  await unhurried(db, (client) =>
    client.query(
      `insert into audience_member (audience_id, organization_id, line_oa_id, user_id)
     select id, organization_id, line_oa_id, user_id from audience cross join proof.person where name = 'left' or (name = 'fixed' and n % 3 = 0)`,
    ),
  );
  for (const draft of sleeping) await createRule(db, tenant, draft);
  const [first] = rulesOfOthers;
  if (first === undefined) throw new Error('there is no rule to delete');
  await deleteRule(db, tenant, await createRule(db, tenant, { ...first.draft, name: 'deleted' }));
  return placeRules(db, tenant, [...liveRules(audiences), ...observing]);
}

async function placeRules(db: Db, tenant: Tenant, rules: readonly (typeof observing)[number][]) {
  const placed: PlacedRule[] = [];
  for (const rule of rules) {
    const id = await createRule(db, tenant, rule.draft);
    placed.push({ ...rule, id, lineOaId: tenant.lineOaId });
  }
  return placed;
}

/** What talks to LINE does not run: what is decided matters here. */
async function startReplicas(stack: Stack): Promise<Stage['kill']> {
  const running: { name: AppName; instance: string; app: App }[] = [];
  for (const [n, name] of REPLICAS.entries()) {
    const instance = `${name}-${n}`;
    running.push({ name, instance, app: await stack.start(name, { INSTANCE_NAME: instance }) });
  }
  return async (name) => {
    const dying = running.filter((one) => one.name === name);
    for (const { app } of dying) app.child.kill('SIGKILL');
    for (const one of dying) {
      await one.app.gone;
      one.app = await stack.start(name, { INSTANCE_NAME: one.instance });
    }
  };
}

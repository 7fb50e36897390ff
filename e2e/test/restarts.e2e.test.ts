import { join } from 'node:path';
import { createCampaign } from '@dueline/campaigns';
import { scheduleAsSeen } from '@dueline/campaigns/testing';
import { APP_NAMES, type AppName } from '@dueline/demo';
import { nthUserId, type ReceiptRow } from '@dueline/line-simulator';
import { missingServers, type PrivateServer, type PrivateServices, startKillable } from '@dueline/local-services';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { CLEAN, type Planned } from '@dueline/stress';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, startStage } from './kill/stage.ts';
import { ROOT } from './support.ts';

/** Beyond the people of the waves. */
const FIRST_OF_AUDIENCES = 19_000;
const AUDIENCE_SIZE = 10;
/** RabbitMQ's clients wait for up to 10 s before they look again, and what was in hand has a lease of 3 s. */
const PATIENCE_MS = 150_000;
/** A tick each second, and half a second until a scheduler does without Redis; then claim, freeze and send. */
const CAMPAIGN_IN_TIME_MS = 2_500;

const missing = missingServers(process.env);
const reason = missing.length > 0 ? ` (not installed here: ${missing.join(', ')})` : '';

describe.skipIf(missing.length > 0)(`services that really die${reason}`, () => {
  let services: PrivateServices;
  let stage: Stage;

  beforeAll(async () => {
    services = await startKillable({ stateFolder: join(ROOT, '.dueline'), env: process.env });
    const { databaseUrl, amqpUrl, amqpManagementUrl, redisUrl } = services.urls;
    const urls = {
      DATABASE_URL: databaseUrl,
      AMQP_URL: amqpUrl,
      AMQP_MANAGEMENT_URL: amqpManagementUrl,
      REDIS_URL: redisUrl,
    };
    stage = await startStage({ env: { ...process.env, ...urls, DUELINE_SERVICES: 'environment' } });
  });

  // Each test finds all of them alive, and so does the removal of the database and the vhost.
  afterEach(async () => {
    services.redis.thaw();
    await Promise.all([services.postgres, services.rabbitmq, services.redis].map((server) => server.start()));
  });

  afterAll(async () => {
    try {
      await stage?.stack.stop();
    } finally {
      await services?.stop();
    }
  });

  let audiences = 0;
  /** A wave that is under way, and a campaign whose time comes with the next whole second but one. */
  const begin = async (what: string) => {
    const lid = what.replaceAll(' ', '-');
    const first = FIRST_OF_AUDIENCES + AUDIENCE_SIZE * audiences;
    audiences += 1;
    const startsAt = Math.ceil(Date.now() / 1_000 + 1) * 1_000;
    const campaign = await planCampaign(stage, { lid, startsAt, first });
    const planned = await stage.wave(300);
    await stage.received(planned, 50);
    return { planned: [...planned, ...campaign], lid, startsAt };
  };

  /** Everything arrived once, no app had to be started again for it, and all are ready. */
  const expectClean = async (planned: readonly Planned[]) => {
    const history = await stage.outcome(planned, PATIENCE_MS);
    expect({ ...history, ended: endedApps(stage) }).toEqual({ ...CLEAN, ended: [] });
    await expect.poll(() => openCampaigns(stage), { timeout: 45_000 }).toEqual([]);
    await expect.poll(() => readyApps(stage), { timeout: 45_000 }).toEqual(APP_NAMES);
  };

  const RESTARTS: readonly (readonly [string, 'rabbitmq' | 'postgres', NodeJS.Signals])[] = [
    ['RabbitMQ killed', 'rabbitmq', 'SIGKILL'],
    ['PostgreSQL killed', 'postgres', 'SIGKILL'],
    ['PostgreSQL stopped at once', 'postgres', 'SIGQUIT'],
  ];

  test.for(RESTARTS)(
    '%s and started again in the middle of a batch: nothing is lost, doubled or stuck',
    async ([what, name, how]) => {
      const server: PrivateServer = services[name];
      const { planned } = await begin(what);
      await server.stop(how);
      expect((await receiptsOf(stage, planned)).length).toBeLessThan(planned.length);
      await server.start();

      await expectClean(planned);
    },
  );

  test('PostgreSQL stopped in order, and back when every app has noticed: nothing is lost, doubled or stuck', async () => {
    const { planned } = await begin('PostgreSQL away');
    await services.postgres.stop('SIGINT');
    await expect.poll(() => readyApps(stage), { timeout: 45_000 }).toEqual([]);
    await services.postgres.start();

    await expectClean(planned);
  });

  test('RabbitMQ away for seconds while people go on writing: nothing is lost, doubled or stuck', async () => {
    const { planned } = await begin('RabbitMQ away');
    const stopping = services.rabbitmq.stop('SIGTERM');
    await expect.poll(() => readyApps(stage), { timeout: 45_000 }).toEqual([]);
    planned.push(...(await stage.wave(100)));
    await Promise.all([stopping, services.rabbitmq.stop('SIGKILL')]); // it has closed its connections; the rest of its stop takes long
    const starting = services.rabbitmq.start();
    planned.push(...(await stage.wave(100)));
    await starting;

    await expectClean(planned);
  });

  test('Redis emptied in the middle of a batch: nothing is lost, doubled or stuck', async () => {
    const { planned } = await begin('Redis emptied');
    await services.redis.flush();

    await expectClean(planned);
  });

  test.for([
    ['killed', (redis: PrivateServer) => redis.stop('SIGKILL')],
    ['hanging', (redis: PrivateServer) => redis.freeze()],
  ] as const)(
    'Redis %s when a campaign becomes due: it is sent in time, and nothing is lost, doubled or stuck',
    async ([how, breakIt]) => {
      await breakIt(services.redis);
      const { planned, lid, startsAt } = await begin(`Redis ${how}`);

      await expectClean(planned);
      const receipts = (await receiptsOf(stage, planned)).filter((receipt) => receipt.lid === lid);
      expect(receipts).toHaveLength(AUDIENCE_SIZE);
      expect(latenessMs(receipts, startsAt)).toBeLessThan(CAMPAIGN_IN_TIME_MS);
    },
  );

  test('over everything that was written here: nothing is lost, doubled or stuck', async () => {
    expect(await stage.outcomeOfAll()).toEqual(CLEAN);
  });
});

/** The names of apps that are gone, with their code or signal. */
const endedApps = ({ stack }: Stage): string[] =>
  [...stack.apps.values()]
    .filter(({ child }) => child.exitCode !== null || child.signalCode !== null)
    .map(({ name, child }) => `${name}: ${child.signalCode ?? child.exitCode}`);

async function readyApps({ stack }: Stage): Promise<AppName[]> {
  const answers = [...stack.apps].map(async ([name, { url }]) => ((await fetch(`${url()}/readyz`)).ok ? [name] : []));
  return (await Promise.all(answers)).flat();
}

async function receiptsOf({ stack }: Stage, planned: readonly Planned[]): Promise<ReceiptRow[]> {
  const users = new Set(planned.map(({ user }) => user));
  return (await stack.line.receiptsSince(0)).filter(({ user }) => users.has(user));
}

const latenessMs = (receipts: readonly ReceiptRow[], startsAt: number): number =>
  Math.max(...receipts.map(({ at }) => Date.parse(at) - startsAt));

/** Schedules a campaign to people who got nothing before, for a time in milliseconds since 1970. */
async function planCampaign(
  { stack, tenant }: Stage,
  { lid, startsAt, first }: { lid: string; startsAt: number; first: number },
): Promise<Planned[]> {
  const { db } = stack.database;
  const userIds = Array.from({ length: AUDIENCE_SIZE }, (_, n) => nthUserId('ca', first + n));
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, userIds],
  );
  const audienceId = await createAudience(db, tenant, { name: lid });
  await addAudienceMembers(db, tenant, { audienceId, userIds });
  const messages = [{ type: 'text' as const, text: `hello all [[lid:${lid}]]` }];
  const campaign = await createCampaign(db, tenant, { name: lid, castType: 'multicast', audienceId, messages });
  await scheduleAsSeen(db, tenant, { campaign, startDate: new Date(startsAt).toISOString() });
  return userIds.map((user) => ({ user, lid }));
}

async function openCampaigns({ stack }: Stage): Promise<string[]> {
  const { rows } = await stack.database.db.$client.query(
    "select format('%s is %s', name, status) as what from campaign where status <> 'sent'",
  );
  return rows.map(({ what }) => what);
}

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLineOa, createOrganization, renewWebhookSecret, storeChannelCredentials } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { type App, type AppName, cutConnections, type Stack, startStack } from '@dueline/demo';
import { nthUserId } from '@dueline/line-simulator';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { linesWith, startSink } from './secrets-support.ts';
import { ROOT, run, serviceEnvironment } from './support.ts';

/** What nobody may find where operators look; each can be told from the others, and from everything else. */
const planted = (what: string): string => `planted-${what}-${randomBytes(6).toString('hex')}`;
const PLANTED = {
  token: planted('token'),
  refusedToken: planted('refused-token'),
  channelSecret: planted('channel-secret'),
  addressToken: planted('address-token'),
  databasePassword: planted('database-password'),
  brokerPassword: planted('broker-password'),
  redisPassword: planted('redis-password'),
  // what people are and are sent
  text: planted('text'),
  attribute: planted('attribute'),
  name: planted('name'),
  answer: planted('answer'),
  payload: planted('payload'),
};
const CHANNELS = [0, 1, 2].map((n) => ({
  channelId: String(3_900_000_001 + n),
  channelAccessToken: n === 0 ? PLANTED.token : `known-to-line-${n}`,
  users: [{ prefix: `e${n}`, count: 5 }],
}));

let stack: Stack;
let webhookSecret: string;
const sinks: Record<'traces' | 'receiver', Awaited<ReturnType<typeof startSink>> | undefined> = {
  traces: undefined,
  receiver: undefined,
};

beforeAll(async () => {
  sinks.traces = await startSink(200);
  sinks.receiver = await startSink(500);
  const appEnv = {
    LOG_LEVEL: 'trace',
    OTEL_EXPORTER_OTLP_ENDPOINT: sinks.traces.url,
    WEBHOOK_ALLOW_LOOPBACK: 'true',
    REAP_INTERVAL_SECONDS: '1',
  };
  stack = await startStack({ env: serviceEnvironment(), channels: CHANNELS, tell: () => undefined, appEnv });
});
afterAll(async () => {
  await stack?.stop();
  sinks.traces?.close();
  sinks.receiver?.close();
});

/** An account whose rules tell people, and a receiver, of what they are. */
async function openAccount(n: number, token: string): Promise<Tenant> {
  const { db } = stack.database;
  const { secretsKey } = stack;
  const organizationId = await createOrganization(db, { name: 'secrets' });
  const channelId = CHANNELS[n]?.channelId ?? '';
  const account = { organizationId, channelId, name: 'secrets', timezone: 'Asia/Tokyo' };
  const tenant = await createLineOa(db, { ...account, channelAccessToken: token, secretsKey });
  const when = { sourceType: 'attribute_changed' as const, sourceConfig: { attribute: 'city' } };
  const text = `${PLANTED.text} {{ attribute.city | "none" }} [[lid:secrets]]`;
  await createRule(db, tenant, {
    ...{ ...when, name: 'send', frequency: 'every_time' as const, actionType: 'send_message' as const },
    actionConfig: { messages: [{ type: 'text' as const, text }] },
  });
  await createRule(db, tenant, {
    ...{ ...when, name: 'call', frequency: 'every_time' as const, actionType: 'call_webhook' as const },
    actionConfig: {
      url: `${sinks.receiver?.url}/hook?token=${PLANTED.addressToken}`,
      data: { city: '{{ attribute.city | "none" }}', name: PLANTED.name },
    },
  });
  webhookSecret = await inTransaction(db, (tx) =>
    renewWebhookSecret(tx, tenant, { secretsKey, by: 'test', reason: null }),
  );
  return tenant;
}

/** Something happens to three people of an account, each told of by another table. */
async function happen({ organizationId, lineOaId }: Tenant, prefix: string): Promise<void> {
  const { $client } = stack.database.db;
  const ids = [0, 1, 2].map((n) => nthUserId(prefix, n));
  const of = [organizationId, lineOaId];
  await $client.query(
    `insert into line_user (organization_id, line_oa_id, user_id, display_name, attributes)
     select $1, $2, unnest($3::text[]), $4, jsonb_build_object('city', $5::text)`,
    [...of, ids, PLANTED.name, PLANTED.attribute],
  );
  await $client.query(
    `with form as (insert into form (organization_id, line_oa_id, name) values ($1, $2, 'form') returning id)
     insert into form_submission (organization_id, line_oa_id, form_id, user_id, answers, idempotency_key)
     select $1, $2, id, $3, jsonb_build_object('q', $4::text), 'x' from form`,
    [...of, ids[0], PLANTED.answer],
  );
  await $client.query(
    `insert into custom_event (organization_id, line_oa_id, user_id, name, payload, idempotency_key)
     values ($1, $2, $3, 'purchase', jsonb_build_object('q', $4::text), 'x')`,
    [...of, ids[1], PLANTED.payload],
  );
}

/** An app beside the others that is told something wrong: what its health answers once it has tried. */
async function startWrong(name: AppName, env: Readonly<Record<string, string>>): Promise<{ app: App; answer: string }> {
  const app = await stack.start(name, { ...env, INSTANCE_NAME: `wrong-${Object.keys(env)[0]}` });
  let answer = '';
  await expect
    .poll(
      async () => {
        const response = app.url() && (await fetch(`${app.url()}/readyz`, { signal: AbortSignal.timeout(8_000) }));
        if (response) answer = `${response.status} ${await response.text()}`;
        return answer;
      },
      { timeout: 90_000 },
    )
    .toMatch(/^503 /);
  return { app, answer };
}

const withPassword = (url: string, password: string): string => Object.assign(new URL(url), { password }).href;

/** A command of ops, and all that it says. */
async function say(env: Readonly<Record<string, string>>, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(process.execPath, [join(ROOT, 'apps/ops/src/main.ts'), ...args], { env });
  return `${args.join(' ')}: ${code}\n${stdout}${stderr}`;
}

async function saidByCommands(): Promise<string[]> {
  const { databaseUrl, amqpUrl, amqpManagementUrl } = stack;
  const wrongDatabase = withPassword(databaseUrl, PLANTED.databasePassword);
  const wrongBroker = {
    AMQP_URL: withPassword(amqpUrl, PLANTED.brokerPassword),
    AMQP_MANAGEMENT_URL: amqpManagementUrl,
  };
  const nobody = `postgres://user:${PLANTED.databasePassword}@nobody.invalid:5432/x`;
  return Promise.all([
    say({ DATABASE_URL: wrongDatabase }, 'migrate'),
    say({ DATABASE_URL: nobody }, 'audit'),
    say({ DATABASE_URL: `postgres//user:${PLANTED.databasePassword}@nobody` }, 'roles', '--check'),
    say(wrongBroker, 'topology', '--check'),
    say({ ...wrongBroker, AMQP_MANAGEMENT_URL: withPassword(amqpManagementUrl, PLANTED.brokerPassword) }, 'topology'),
    say({ DATABASE_URL: databaseUrl }, 'attention', 'list', '--json'),
    say({ DATABASE_URL: databaseUrl, SECRETS_KEY: PLANTED.channelSecret }, 'account', 'list'),
  ]);
}

/** What every replica that serves metrics tells. */
const metrics = (apps: readonly App[]): Promise<string[]> =>
  Promise.all(apps.map(async (app) => (await fetch(`${app.url()}/metrics`)).text()));

async function rowsForPeople(): Promise<string> {
  const { rows } = await stack.database.db.$client.query<{ row: string }>(
    `select to_jsonb(item)::text as row from attention_item as item union all select to_jsonb(entry)::text from audit_log as entry
     union all select concat(error_message, detail) from trigger_log union all select detail from delivery_attempt where detail is not null`,
  );
  return rows.map(({ row }) => row).join('\n');
}

test('no secret, and nothing that people are or were sent, is in a log, a metric, a trace, an item or what a command says, whatever fails', async () => {
  const [good, refused, unsealed] = [
    await openAccount(0, PLANTED.token),
    await openAccount(1, PLANTED.refusedToken),
    await openAccount(2, 'to be replaced'),
  ];
  const { db } = stack.database;
  const credentials = { kind: 'stateless' as const, channelSecret: PLANTED.channelSecret };
  const stored = { credentials, secretsKey: stack.secretsKey, by: 'test', reason: null };
  await inTransaction(db, (tx) => storeChannelCredentials(tx, unsealed, stored));
  for (const [tenant, prefix] of [
    [good, 'e0'],
    [refused, 'e1'],
    [unsealed, 'e2'],
  ] as const)
    await happen(tenant, prefix);

  await expect.poll(async () => (await stack.line.receiptsSince(0)).length, { timeout: 90_000 }).toBe(3);
  await expect.poll(() => sinks.receiver?.bodies.length ?? 0, { timeout: 90_000 }).toBeGreaterThan(0);
  const paused = `select count(*)::int as count from line_oa where status = 'paused_auth'`;
  await expect.poll(async () => (await db.$client.query(paused)).rows[0].count, { timeout: 90_000 }).toBe(2);

  const told = await metrics([...stack.apps.values()]);
  await cutConnections(stack);
  await db.$client.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = any($1)`, [
    Object.values(stack.logins).map(({ user }) => user),
  ]);
  const wrong = [
    await startWrong('trigger-worker', { DATABASE_URL: withPassword(stack.databaseUrl, PLANTED.databasePassword) }),
    await startWrong('pg-listener', {
      DATABASE_URL: `postgres://user:${PLANTED.databasePassword}@nobody.invalid:5432/x`,
    }),
    await startWrong('line-delivery', { AMQP_URL: withPassword(stack.amqpUrl, PLANTED.brokerPassword) }),
    await startWrong('cron-scheduler', {
      AMQP_URL: `amqp://user:${PLANTED.brokerPassword}@nobody.invalid`,
      REDIS_URL: withPassword(serviceEnvironment().REDIS_URL ?? '', PLANTED.redisPassword),
    }),
  ];
  told.push(...wrong.map(({ answer }) => answer), ...(await metrics(wrong.map(({ app }) => app))));
  told.push(...(await saidByCommands()), await rowsForPeople());
  await Promise.all([...stack.apps.values()].map((app) => app.stop())); // what a stop still says
  const logs = readdirSync(stack.logFolder).map((file) => readFileSync(join(stack.logFolder, file), 'utf8'));

  const owner = [stack.databaseUrl, stack.amqpUrl, serviceEnvironment().REDIS_URL ?? ''].map(
    (url) => new URL(url).password,
  );
  const secrets = {
    ...PLANTED,
    webhookSecret,
    secretsKey: stack.secretsKey.toString('base64'),
    ...Object.fromEntries(Object.entries(stack.logins).map(([app, { password }]) => [`password of ${app}`, password])),
    ...Object.fromEntries(owner.map((password, n) => [`password ${n}`, password])),
  };
  // the search finds what is there, and what was to fail failed
  expect(linesWith(sinks.receiver?.bodies.join('\n') ?? '', PLANTED.attribute)).not.toEqual([]);
  for (const failure of ['password authentication failed', 'ENOTFOUND', 'ACCESS_REFUSED', 'WRONGPASS'])
    expect(logs.join('')).toContain(failure);
  const places = { logs, told, traces: sinks.traces?.bodies ?? [] };
  expect(places.traces.length).toBeGreaterThan(0);
  const found = Object.entries(places).flatMap(([place, texts]) =>
    Object.entries(secrets).flatMap(([what, secret]) =>
      secret === ''
        ? []
        : texts.flatMap((text) => linesWith(text, secret).map((line) => `${what} in ${place}: ${line}`)),
    ),
  );
  expect(found).toEqual([]);
});

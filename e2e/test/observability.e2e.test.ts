import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLineOa, createOrganization } from '@dueline/accounts';
import { createCampaign } from '@dueline/campaigns';
import { scheduleAsSeen } from '@dueline/campaigns/testing';
import { manageRabbit, type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId } from '@dueline/line-simulator';
import { DASHBOARDS, filledIn, findPrograms, matches, ruleGroups, selectorsOf } from '@dueline/observability';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Scraped, scrape, type Target } from './observability/scrape.ts';
import { startPostgresExporter, startPrometheus, type Watcher } from './observability/watchers.ts';
import { ROOT, serviceEnvironment } from './support.ts';

const PEOPLE = 10;
const CHANNEL = { channelId: '3000000021', channelAccessToken: 'o-token', users: [{ prefix: 'b0', count: PEOPLE }] };
/** Series that are there once something went wrong, or once somebody used what they are about. */
const ONCE_IT_HAPPENS = new Set([
  'dueline_mq_handler_failures_total',
  'dueline_metric_collect_errors_total',
  'dueline_webhook_attempts_total',
  'dueline_partitions_dropped_total',
]);
/** What Prometheus makes itself. */
const OF_PROMETHEUS = new Set(['up', 'ALERTS']);
const QUEUE_FAMILIES = '/metrics/detailed?family=queue_coarse_metrics&family=queue_consumer_count';

const prometheus = await findPrograms('prometheus', ROOT);
const exporter = await findPrograms('prometheus-postgres-exporter', ROOT);
const missing = ['missing' in prometheus && prometheus.missing, 'missing' in exporter && exporter.missing].filter(
  Boolean,
);
if ((await brokerMetrics(inject('amqpManagementUrl'))) === undefined) missing.push('RabbitMQ serves no metrics');
const NEEDS = missing.length > 0 ? ` (skipped: ${missing.join('; ')})` : '';

const ALERTS = ruleGroups().flatMap(({ rules }) =>
  rules.map(({ alert, expr, labels }) => ({ alert: `${alert} of ${labels.app}`, expr })),
);
const PANELS = DASHBOARDS.flatMap(({ title: dashboard, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries, mayBeEmpty = false }) =>
      queries.map(({ expr }) => ({
        panel: `${dashboard} / ${title}`,
        expr: filledIn(expr, { every: 30 }),
        mayBeEmpty,
      })),
    ),
  ),
);

describe.skipIf(NEEDS !== '')(`what is watched${NEEDS}`, () => {
  const watchers: Watcher[] = [];
  let stack: Stack;
  let targets: readonly Target[];
  let scraped: readonly Scraped[];

  beforeAll(async () => {
    stack = await startStack({ env: serviceEnvironment(), channels: [CHANNEL], tell: () => undefined });
    const watcher = await startPostgresExporter(programOf(exporter, 'prometheus-postgres-exporter'), stack.databaseUrl);
    watchers.push(watcher);
    const broker = await brokerMetrics(stack.amqpManagementUrl);
    targets = [
      ...[...stack.apps].map(([job, app]) => ({ job, url: `${app.url()}/metrics` })),
      { job: 'rabbitmq', url: `${broker}/metrics` },
      { job: 'rabbitmq-queues', url: `${broker}${QUEUE_FAMILIES}` },
      { job: 'postgres', url: `${watcher.url}/metrics` },
    ];
    await playEverything(stack);
    // RabbitMQ learns of its own queues every five seconds.
    for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(200)) {
      scraped = await Promise.all(targets.map(scrape));
      if (scraped.some(({ series }) => series.some((one) => one.__name__ === 'rabbitmq_detailed_queue_consumers')))
        break;
    }
  });
  afterAll(async () => {
    await Promise.all(watchers.map((watcher) => watcher.stop()));
    await stack?.stop();
  });

  /** The selectors of a query for which nobody serves a series. */
  const unserved = (expr: string): string[] =>
    selectorsOf(expr)
      .filter(({ metric }) => !OF_PROMETHEUS.has(metric))
      .filter((selector) =>
        ONCE_IT_HAPPENS.has(selector.metric)
          ? !scraped.some(({ declared }) => declared.has(selector.metric))
          : !scraped.some(({ series }) => series.some((one) => matches(selector, one))),
      )
      .map(({ metric, matchers }) => `${metric} ${JSON.stringify(matchers)}`);

  test('every alert asks for series that running apps and servers serve', () => {
    const wrong = ALERTS.map(({ alert, expr }) => ({ alert, unserved: unserved(expr) }));
    expect(wrong.filter((one) => one.unserved.length > 0)).toEqual([]);
  });

  test('every panel asks for series that running apps and servers serve', () => {
    const wrong = PANELS.map(({ panel, expr }) => ({ panel, unserved: unserved(expr) }));
    expect(wrong.filter((one) => one.unserved.length > 0)).toEqual([]);
  });

  test('every metric of ours is in docs/operating.md, in a base unit, with labels of few values', () => {
    const ours = scraped.flatMap(({ series }) => series.filter(({ __name__ = '' }) => __name__.startsWith('dueline_')));
    expect(ours.length).toBeGreaterThan(200);
    const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');
    for (const name of scraped.flatMap(({ declared }) => [...declared].filter((one) => one.startsWith('dueline_')))) {
      expect({ name, isDocumented: new RegExp(`\`${name}[{\`]`).test(page) }).toEqual({ name, isDocumented: true });
      expect(name).not.toMatch(/_(ms|millis|minutes|hours|kb|percent)(_|$)/);
    }
    const values = Map.groupBy(ours, ({ __name__ }) => __name__);
    for (const [name, series] of values) expect({ name, many: series.length > 1_000 }).toEqual({ name, many: false });
    expect(JSON.stringify(ours)).not.toContain(nthUserId('b0', 0));
  });

  test('a Prometheus that scrapes them evaluates every panel and alert, with data where there must be some', async () => {
    const watcher = await startPrometheus(programOf(prometheus, 'prometheus'), targets);
    watchers.push(watcher);
    const ask = (query: string) => evaluate(watcher.url, query);
    const asked = () => Promise.all(PANELS.map(async (panel) => ({ ...panel, ...(await ask(panel.expr)) })));
    // On a busy machine a scrape may be late: it is looked again until all have come.
    const patience = { timeout: 120_000, interval: 1_000 };
    await expect.poll(() => ask('count(up == 1)'), patience).toMatchObject({ values: [String(targets.length)] });
    expect((await asked()).filter(({ error }) => error !== undefined)).toEqual([]);
    await expect
      .poll(
        async () => (await asked()).filter(({ values, mayBeEmpty }) => values.length === 0 && !mayBeEmpty),
        patience,
      )
      .toEqual([]);
    const alerts = await Promise.all(ALERTS.map(async (alert) => ({ ...alert, ...(await ask(alert.expr)) })));
    expect(alerts.filter(({ error }) => error !== undefined)).toEqual([]);
    await expect.poll(() => unhealthyRules(watcher.url), patience).toEqual([]);
  });
});

const programOf = (found: Awaited<ReturnType<typeof findPrograms>>, name: string): string =>
  'paths' in found ? (found.paths[name] ?? '') : '';

/** Where RabbitMQ's plugin for metrics listens, as its management knows; undefined without the plugin. */
async function brokerMetrics(managementUrl: string): Promise<string | undefined> {
  type Overview = { listeners: { protocol: string; port: number }[] };
  const overview = await manageRabbit<Overview>(managementUrl, 'GET', '/overview');
  const port = overview?.listeners.find(({ protocol }) => protocol === 'http/prometheus')?.port;
  return port === undefined ? undefined : `http://${new URL(managementUrl).hostname}:${port}`;
}

async function evaluate(url: string, query: string): Promise<{ values: string[]; error: string | undefined }> {
  const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query })}`);
  const answer = (await response.json()) as { error?: string; data?: { result: { value: [number, string] }[] } };
  return { values: (answer.data?.result ?? []).map(({ value }) => value[1]), error: answer.error };
}

/** Rules that Prometheus could not evaluate, or has not evaluated yet. */
async function unhealthyRules(url: string): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/rules`);
  const { data } = (await response.json()) as { data: { groups: { rules: { name: string; health: string }[] }[] } };
  const rules = data.groups.flatMap((group) => group.rules);
  return [
    ...rules.filter(({ health }) => health !== 'ok').map(({ name }) => name),
    ...(rules.length === 0 ? ['none'] : []),
  ];
}

/** Something of everything: a message at once, one later, a campaign. Resolves when LINE has all of it. */
async function playEverything({ database: { db }, line, secretsKey }: Stack): Promise<void> {
  const users = Array.from({ length: PEOPLE }, (_, n) => nthUserId('b0', n));
  const organizationId = await createOrganization(db, { name: 'observed' });
  const account = { organizationId, ...CHANNEL, name: 'observed', timezone: 'Asia/Tokyo', secretsKey };
  const tenant = await createLineOa(db, account);
  const rule = (name: string, delay: object) => ({
    ...{
      name,
      sourceType: 'attribute_changed' as const,
      sourceConfig: { attribute: 'city' },
      frequency: 'every_time' as const,
    },
    actionType: 'send_message' as const,
    actionConfig: { messages: [{ type: 'text' as const, text: `こんにちは [[lid:${name}]]` }], ...delay },
  });
  await createRule(db, tenant, rule('now', {}));
  await createRule(db, tenant, rule('later', { delay: { seconds: 1 } }));
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, users],
  );
  const audienceId = await createAudience(db, tenant, { name: 'observed' });
  await addAudienceMembers(db, tenant, { audienceId, userIds: users });
  const messages = [{ type: 'text' as const, text: '春 [[lid:spring]]' }];
  const campaign = await createCampaign(db, tenant, { name: 'spring', castType: 'multicast', audienceId, messages });
  await scheduleAsSeen(db, tenant, { campaign, startDate: new Date().toISOString() });
  await db.$client.query(`update line_user set attributes = '{"city": "京都"}'`);
  const deadline = performance.now() + 120_000;
  const received = async () => (await line.receiptsSince(0)).length;
  while ((await received()) < 3 * PEOPLE && performance.now() < deadline) await sleep(50);
  if ((await received()) !== 3 * PEOPLE) throw new Error(`LINE has ${await received()} messages, not ${3 * PEOPLE}`);
}

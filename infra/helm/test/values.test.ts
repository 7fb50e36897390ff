import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUEUES } from '@dueline/contracts';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHARTS_FOLDER, LIBRARY_CHART, MIGRATE_CHART, SERVICE_CHARTS, UMBRELLA_CHART } from '../src/charts.ts';
import { ROOT } from './rendered.ts';

const SERVICES = SERVICE_CHARTS.map(({ name }) => name);
const RUNBOOKS = 'docs/alerts.md';
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const namesIn = (pattern: string): string[] =>
  globSync(pattern, { cwd: ROOT })
    .map((path) => path.split('/').at(-2) ?? '')
    .toSorted();
const sourcesOf = (...folders: string[]): string =>
  folders.flatMap((folder) => globSync(`${folder}/src/**/*.ts`, { cwd: ROOT }).map(read)).join('\n');

/** Alerts as the templates write them. */
const alertsOf = (chart: string): { alert: string; expr: string }[] =>
  globSync(`${CHARTS_FOLDER}/${chart}/templates/*`, { cwd: ROOT }).flatMap((path) =>
    read(path)
      .split(/^- (?=alert: )/m)
      .slice(1)
      .map((text) => ({ alert: /^alert: (\w+)/.exec(text)?.[1] ?? '', expr: text.split('  for: ')[0] ?? '' })),
  );
const ALERTS = [...SERVICES, LIBRARY_CHART, UMBRELLA_CHART].flatMap((chart) =>
  alertsOf(chart).map((alert) => ({ chart, ...alert })),
);

it('every service has a chart, and every chart a service', () => {
  const apps = namesIn('apps/*/package.json').filter((name) => name !== 'ops');
  expect(SERVICES.toSorted()).toEqual(apps);
  expect(namesIn(`${CHARTS_FOLDER}/*/Chart.yaml`)).toEqual(
    [...SERVICES, LIBRARY_CHART, MIGRATE_CHART, UMBRELLA_CHART].toSorted(),
  );
});

it('every chart has the version of Dueline, and takes the others in theirs', () => {
  const versions = namesIn(`${CHARTS_FOLDER}/*/Chart.yaml`).flatMap((name) => {
    const chart = parse(read(`${CHARTS_FOLDER}/${name}/Chart.yaml`)) as {
      version: string;
      appVersion?: string;
      dependencies?: { version: string }[];
    };
    return [chart.version, chart.appVersion, ...(chart.dependencies ?? []).map(({ version }) => version)];
  });
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(new Set(versions.filter((one) => one !== undefined))).toEqual(new Set([version]));
});

it('every queue is one that scales its consumer, the ticks apart', () => {
  const scaling = globSync(`${CHARTS_FOLDER}/*/templates/_scaling.tpl`, { cwd: ROOT }).map(read).join('\n');
  const named = [...scaling.matchAll(/^- ([a-z_.]+)$/gm)].map(([, name]) => name);
  const queues = QUEUES.filter(({ tick }) => tick === undefined).map(({ name }) => name);
  expect(named.toSorted()).toEqual(queues.toSorted());
});

it('every queue is watched for its consumer', () => {
  const watched = [...read(`${CHARTS_FOLDER}/${UMBRELLA_CHART}/templates/alerts.yaml`).matchAll(/^- ([a-z_.]+)$/gm)];
  expect(watched.map(([, name]) => name).toSorted()).toEqual(QUEUES.map(({ name }) => name).toSorted());
});

it.each(ALERTS)('$alert of $chart asks for metrics that are exported', ({ chart, expr }) => {
  const everywhere = sourcesOf('apps/*', 'packages/worker-app', 'packages/runtime');
  const own =
    chart === LIBRARY_CHART ? sourcesOf('packages/worker-app', 'packages/runtime') : sourcesOf(`apps/${chart}`);
  const metrics = [...new Set(expr.match(/\bdueline_\w+/g))];
  const isOf = (source: string) => (metric: string) => source.includes(`name: '${metric}'`);
  expect(metrics.filter((metric) => !isOf(everywhere)(metric))).toEqual([]);
  const shared = sourcesOf('packages/worker-app', 'packages/runtime');
  if (metrics.length > 0) expect(metrics.some(isOf(own + shared))).toBe(true);
});

it('every alert has its section in the runbooks, and every section an alert', () => {
  const sections = [...read(RUNBOOKS).matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  const alerts = ALERTS.map(({ alert }) => alert);
  expect(new Set(alerts).size).toBe(alerts.length);
  expect(sections.toSorted()).toEqual(alerts.toSorted());
});

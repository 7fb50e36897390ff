import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUEUES } from '@dueline/contracts';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHARTS_FOLDER, LIBRARY_CHART, MIGRATE_CHART, SERVICE_CHARTS, UMBRELLA_CHART } from '../src/charts.ts';
import { ROOT } from './rendered.ts';

const SERVICES = SERVICE_CHARTS.map(({ name }) => name);
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const namesIn = (pattern: string): string[] =>
  globSync(pattern, { cwd: ROOT })
    .map((path) => path.split('/').at(-2) ?? '')
    .toSorted();

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

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { CHARTS_FOLDER, LIBRARY_CHART, MIGRATE_CHART, SERVICE_CHARTS, UMBRELLA_CHART } from './charts.ts';
import { appVariables } from './config-values.ts';
import type { JsonSchema } from './json-schema.ts';
import { type Chart, chartReadme } from './readme.ts';
import { migrateSchema, serviceSchema, umbrellaSchema } from './values-schema.ts';

/**
 * What is generated in infra/helm: values.schema.json and README.md of each chart, by path from the root. The settings of an app come
 * from its config.ts, so that a chart refuses what the app would refuse.
 */
export async function chartPages(root: string): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  for (const chart of SERVICE_CHARTS) {
    const { name, derived } = chart;
    const schema = serviceSchema(chart, await appVariables(root, { app: name, names: ['configSchema'], derived }));
    addChart(pages, { root, name, schema, intro: [`The app: [apps/${name}](../../../../apps/${name}/README.md).`] });
  }
  const names = ['migrateSchema', 'topologySchema', 'loginsSchema'];
  const ops = await appVariables(root, { app: 'ops', names, derived: [] });
  addChart(pages, {
    root,
    name: MIGRATE_CHART,
    schema: migrateSchema(ops),
    intro: [
      'Its image is that of [apps/ops](../../../../apps/ops/README.md), by `migrate` and `topology`, and where you want them `topology --permissions` and `logins`; all may be repeated.',
    ],
  });
  const charts = [MIGRATE_CHART, ...SERVICE_CHARTS.map(({ name }) => name)];
  addChart(pages, { root, name: UMBRELLA_CHART, schema: umbrellaSchema(charts), intro: [linksTo(charts)] });
  const library = 'It renders nothing by itself: the charts beside it call its templates.';
  pages.set(`${CHARTS_FOLDER}/${LIBRARY_CHART}/README.md`, libraryReadme(root, library));
  return pages;
}

type Part = {
  readonly root: string;
  readonly name: string;
  readonly schema: JsonSchema;
  readonly intro: readonly string[];
};

function addChart(pages: Map<string, string>, { root, name, schema, intro }: Part): void {
  const folder = `${CHARTS_FOLDER}/${name}`;
  const values: unknown = parse(readFileSync(join(root, folder, 'values.yaml'), 'utf8'));
  pages.set(`${folder}/values.schema.json`, `${JSON.stringify(schema, undefined, 2)}\n`);
  pages.set(`${folder}/README.md`, chartReadme({ chart: chartOf(root, name), schema, values, intro }));
}

function chartOf(root: string, name: string): Chart {
  const read = parse(readFileSync(join(root, CHARTS_FOLDER, name, 'Chart.yaml'), 'utf8')) as Chart;
  return { ...read, appVersion: read.appVersion };
}

function libraryReadme(root: string, intro: string): string {
  const readme = chartReadme({ chart: chartOf(root, LIBRARY_CHART), schema: {}, values: {}, intro: [intro] });
  return `${readme.slice(0, readme.indexOf('\n\n## Values'))}\n`;
}

const linksTo = (charts: readonly string[]): string =>
  ['The charts:', charts.map((name) => `[${name}](../${name}/README.md)`).join(', ')].join(' ').concat('.');

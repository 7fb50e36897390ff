import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { DASHBOARDS, DASHBOARDS_FOLDER, filledIn, observabilityPages, selectorsOf } from '../src/index.ts';

const ROOT = dirname(dirname(dirname(import.meta.dirname)));

type Json = { readonly [key: string]: unknown };
type GridPos = { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
type GrafanaPanel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: GridPos;
  readonly datasource?: Json;
  readonly fieldConfig?: { readonly defaults: Json };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly datasource: Json }[];
};

const FILES = DASHBOARDS.map(({ uid, title }) => {
  const path = `${DASHBOARDS_FOLDER}/${uid}.json`;
  const json = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Json & {
    readonly panels: readonly GrafanaPanel[];
  };
  return { uid, title, path, json };
});
const DATASOURCE = { type: 'prometheus', uid: '$' + '{datasource}' };

it('each dashboard has a name and an address of its own, and one leads to the others', () => {
  for (const key of ['uid', 'title'] as const)
    expect(new Set(FILES.map((file) => file.json[key])).size).toBe(FILES.length);
  for (const { json, uid } of FILES) {
    expect(json).toMatchObject({ uid, tags: ['dueline'], links: [{ type: 'dashboards', tags: ['dueline'] }] });
    expect(uid.length).toBeLessThanOrEqual(40); // Grafana refuses longer ones
  }
});

it.each(FILES)('$title asks the Prometheus and the namespace that are chosen', ({ json }) => {
  expect(json.templating).toMatchObject({ list: [{ name: 'datasource', type: 'datasource' }, { name: 'namespace' }] });
  for (const panel of json.panels.filter(({ type }) => type !== 'row')) {
    expect(panel.datasource).toEqual(DATASOURCE);
    expect(panel.targets?.length).toBeGreaterThan(0);
    for (const target of panel.targets ?? []) expect(target.datasource).toEqual(DATASOURCE);
    expect(new Set(panel.targets?.map(({ refId }) => refId)).size).toBe(panel.targets?.length);
  }
});

it.each(FILES)('every panel of $title has an id of its own, says what it tells, and has a unit', ({ json }) => {
  expect(new Set(json.panels.map(({ id }) => id)).size).toBe(json.panels.length);
  const panels = json.panels.filter(({ type }) => type !== 'row');
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  for (const { title, description, fieldConfig } of panels) {
    expect({ title, description }).toEqual({ title, description: expect.stringMatching(/^.{20,}[.]$/) });
    expect({ title, unit: fieldConfig?.defaults.unit }).toEqual({ title, unit: expect.stringMatching(/^\w+$/) });
  }
});

it.each(FILES)('no panel of $title covers another or leaves the screen', ({ json }) => {
  const overlap = (a: GridPos, b: GridPos) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
  const places = json.panels.map(({ title, gridPos }) => ({ title, ...gridPos }));
  for (const [at, one] of places.entries()) {
    expect(one.x + one.w).toBeLessThanOrEqual(24);
    expect(places.slice(at + 1).filter((other) => overlap(one, other))).toEqual([]);
  }
});

it.each(DASHBOARDS)(
  'every query of $title is PromQL, and every metric of ours is of the installation that is looked at',
  ({ rows }) => {
    for (const { expr } of rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries))) {
      const selectors = selectorsOf(filledIn(expr, { every: 60 }));
      expect(selectors.length).toBeGreaterThan(0);
      const ours = selectors.filter(({ metric }) => metric.startsWith('dueline_'));
      expect(ours.filter(({ matchers }) => !matchers.some(({ label }) => label === 'namespace'))).toEqual([]);
    }
  },
);

it('what is generated names no machine and nobody', () => {
  for (const [path, text] of observabilityPages())
    expect({ path, text }).toEqual({ path, text: expect.not.stringMatching(/\d+[.]\d+[.]\d+[.]\d+/) });
});

import type { Dashboard, Panel, Row } from './dashboard.ts';

const WIDTH = 24;
const STAT = { w: 4, h: 4 };
const SERIES = { w: 12, h: 8 };
/** That of Grafana 10 and later. */
const SCHEMA_VERSION = 39;
const DATASOURCE = { type: 'prometheus', uid: '$' + '{datasource}' };

type GridPos = { readonly x: number; readonly y: number; readonly w: number; readonly h: number };

/** A dashboard as Grafana imports it. */
export function grafanaDashboard({ uid, title, description, rows }: Dashboard): object {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    const placed = place(row, y + 1);
    panels.push(rowPanel(row, { id: panels.length + 1, y }));
    for (const { panel, gridPos } of placed) panels.push(grafanaPanel(panel, { id: panels.length + 1, gridPos }));
    y = Math.max(...placed.map(({ gridPos }) => gridPos.y + gridPos.h));
  }
  return {
    uid,
    title,
    description,
    tags: ['dueline'],
    editable: false,
    graphTooltip: 1,
    refresh: '30s',
    schemaVersion: SCHEMA_VERSION,
    time: { from: 'now-3h', to: 'now' },
    timezone: 'browser',
    templating: { list: variables() },
    links: [
      { title: 'Dueline', type: 'dashboards', tags: ['dueline'], asDropdown: true, includeVars: true, keepTime: true },
    ],
    panels,
  };
}

/** From left to right, and down where a line is full; the panels of a line are as high as its first. */
function place({ panels }: Row, top: number): { panel: Panel; gridPos: GridPos }[] {
  let [x, y, lineHeight] = [0, top, 0];
  return panels.map((panel) => {
    const size = panel.kind === 'stat' ? STAT : SERIES;
    if (x + size.w > WIDTH) {
      y += lineHeight;
      x = 0;
    }
    lineHeight = x === 0 ? size.h : Math.max(lineHeight, size.h);
    const gridPos = { x, y, ...size };
    x += size.w;
    return { panel, gridPos };
  });
}

const rowPanel = ({ title }: Row, { id, y }: { id: number; y: number }): object => ({
  id,
  type: 'row',
  title,
  collapsed: false,
  gridPos: { x: 0, y, w: WIDTH, h: 1 },
  panels: [],
});

function grafanaPanel(panel: Panel, { id, gridPos }: { id: number; gridPos: GridPos }): object {
  const { title, description, kind, unit, queries, thresholds } = panel;
  const steps = [
    { color: thresholds === undefined ? 'text' : 'green', value: null },
    ...(thresholds === undefined
      ? []
      : [
          { color: 'orange', value: thresholds.warn },
          { color: 'red', value: thresholds.alarm },
        ]),
  ];
  return {
    id,
    type: kind,
    title,
    description,
    gridPos,
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, min: 0, thresholds: { mode: 'absolute', steps } }, overrides: [] },
    options:
      kind === 'stat'
        ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'background' }
        : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + at),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      ...(kind === 'stat' ? { instant: true } : { range: true }),
    })),
  };
}

/** Which Prometheus, and which installation. */
const variables = (): object[] => [
  { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
  {
    name: 'namespace',
    label: 'Namespace',
    type: 'query',
    datasource: DATASOURCE,
    query: 'label_values(dueline_outbox_rows, namespace)',
    refresh: 2,
    includeAll: true,
    allValue: '.*', // docker compose has none
    current: { text: 'All', value: '$__all' },
  },
];

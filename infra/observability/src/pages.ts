import { DASHBOARDS } from './dashboards/index.ts';
import { grafanaDashboard } from './grafana.ts';
import { helmRules } from './helm-rules.ts';
import { ruleFile } from './rule-file.ts';

/** In the umbrella chart, because Helm packages only what lies in a chart; docker compose's Grafana reads them there too. */
export const DASHBOARDS_FOLDER = 'infra/helm/charts/dueline/dashboards';

/** What is generated from the alerts and dashboards, by path from the root: for the charts and for docker compose. */
export function observabilityPages(): Map<string, string> {
  return new Map([
    ['infra/observability/alerts.yml', ruleFile()],
    ...helmRules(),
    ...DASHBOARDS.map((dashboard): [string, string] => [
      `${DASHBOARDS_FOLDER}/${dashboard.uid}.json`,
      `${JSON.stringify(grafanaDashboard(dashboard), undefined, 2)}\n`,
    ]),
  ]);
}

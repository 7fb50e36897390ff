import { stringify } from 'yaml';
import { type Alert, type AlertGroup, summaryOf } from './alert.ts';
import { ALERT_GROUPS, SHARED_ALERTS } from './alerts/index.ts';

const CHARTS = 'infra/helm/charts';
const SOURCE = '{{/* Made by `./dueline docs` from infra/observability/src/alerts. */}}';
/** A release has a namespace of its own, so that two of them in one cluster are told apart. */
const OF = { app: ' {{ $of }} ', all: ' namespace="{{ $.Release.Namespace }}" ' };

/** The alerts as templates of the charts, by path from the root: each chart brings those of its app. */
export function helmRules(): Map<string, string> {
  const shared = Object.entries(SHARED_ALERTS).map(([name, alerts]) =>
    template(`dueline.alerts.${name}`, alerts, '{{ $.Chart.Name }}'),
  );
  return new Map([
    [`${CHARTS}/library/templates/_alerts.tpl`, `${[SOURCE, ...shared].join('\n')}\n`],
    ...ALERT_GROUPS.map((group): [string, string] => [
      `${CHARTS}/${group.app}/templates/alerts.yaml`,
      chartRules(group),
    ]),
  ]);
}

function chartRules({ app, shared, alerts }: AlertGroup): string {
  const own = `${app}.alerts`;
  const templates = [...shared.map((name) => `dueline.alerts.${name}`), own].map((name) => `"${name}"`).join(' ');
  const rule = `{{ include "dueline.prometheusRule" (merge (dict "alerts" (list ${templates})) .) }}`;
  return `${[SOURCE, template(own, alerts, app), rule].join('\n')}\n`;
}

function template(name: string, alerts: readonly Alert[], app: string): string {
  const rules = alerts.map((alert) => ({
    alert: alert.name,
    expr: alert.expr(OF),
    for: alert.for,
    severity: alert.severity,
    summary: summaryOf(alert, app),
  }));
  return [
    `{{- define "${name}" -}}`,
    '{{- $of := include "dueline.of" . -}}',
    stringify(rules, { lineWidth: 0, defaultStringType: 'QUOTE_SINGLE', defaultKeyType: 'PLAIN' }).trimEnd(),
    '{{- end -}}',
  ].join('\n');
}

import { stringify } from 'yaml';
import { summaryOf } from './alert.ts';
import { ALERT_GROUPS, alertsOf } from './alerts/index.ts';

/** Where each alert has its section, as far as docker compose knows. */
export const RUNBOOKS = 'docs/alerts.md';

/** The address of an alert's section. */
const runbookOf = (name: string): string => `${RUNBOOKS}#${name.toLowerCase()}`;

export type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string; readonly app: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
};

/** The rules of one installation whose Prometheus calls each app by its name, as groups of a rule file. */
export const ruleGroups = (): { readonly name: string; readonly rules: readonly Rule[] }[] =>
  ALERT_GROUPS.map((group) => ({
    name: group.app,
    rules: alertsOf(group).map((alert) => ({
      alert: alert.name,
      expr: alert.expr({ app: `job="${group.app}"`, all: '' }),
      for: alert.for,
      labels: { severity: alert.severity, app: group.app },
      annotations: { summary: summaryOf(alert, group.app), runbook_url: runbookOf(alert.name) },
    })),
  }));

/** What docker compose's Prometheus reads, and promtool tests. */
export const ruleFile = (): string =>
  `# Made by \`./dueline docs\` from infra/observability/src/alerts.\n${stringify({ groups: ruleGroups() }, { lineWidth: 0 })}`;

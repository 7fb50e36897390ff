/** The label matchers by which a query finds what it is about; without the braces. */
type Of = {
  /** Series of the app that an alert belongs to. */
  readonly app: string;
  /** Series of every app of the same installation. */
  readonly all: string;
};

export type Alert = {
  readonly name: `Dueline${string}`;
  /** A condition in PromQL. */
  readonly expr: (of: Of) => string;
  /** For how long the condition holds before somebody is told. */
  readonly for: string;
  /** `page`: people or LINE may be affected now. `ticket`: somebody should look within a day. */
  readonly severity: 'page' | 'ticket';
  /** One sentence; `$app` in it is the app that the alert belongs to. */
  readonly summary: string;
};

/** `service`: what every app may meet. `consumer`: what every app may meet that consumes queues. */
export type SharedAlerts = 'service' | 'consumer';

/** The alerts of one app, or of what no app measures. */
export type AlertGroup = {
  readonly app: string;
  /** Alerts that other apps have as well. */
  readonly shared: readonly SharedAlerts[];
  readonly alerts: readonly Alert[];
};

/** The summary of an alert as the app's. */
export const summaryOf = ({ summary }: Alert, app: string): string => summary.replaceAll('$app', app);

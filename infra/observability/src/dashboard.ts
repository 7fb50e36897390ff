/** Units as Grafana names them. */
type Unit = 's' | 'short' | 'percentunit' | 'ops' | 'bytes' | 'dateTimeFromNow';

type Query = {
  /** PromQL; made with {@link OF} and {@link EVERY}, which are Grafana's to fill in. */
  readonly expr: string;
  /** The name of a series, with its labels as `{{label}}`. */
  readonly legend: string;
};

export type Panel = {
  readonly title: string;
  /** What it tells, and what would be wrong. */
  readonly description: string;
  /** `stat`: how it is now. `timeseries`: how it went. */
  readonly kind: 'stat' | 'timeseries';
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Values from which on it is coloured, from a warning to an alarm. */
  readonly thresholds?: { readonly warn: number; readonly alarm: number };
  /** Whether there is nothing to see as long as nothing goes wrong, or nobody uses what it is about. */
  readonly mayBeEmpty?: boolean;
};

export type Row = { readonly title: string; readonly panels: readonly Panel[] };

export type Dashboard = {
  /** Stays as it is: links and bookmarks name it. */
  readonly uid: `dueline-${string}`;
  readonly title: `Dueline: ${string}`;
  readonly description: string;
  readonly rows: readonly Row[];
};

/** The series of the installation that is looked at; of all where Prometheus knows no namespaces. */
export const OF = 'namespace=~"$namespace"';
/** The range of a rate, as long as it has to be for the resolution of the screen. */
export const EVERY = '$__rate_interval';

/** A query as Grafana sends it, of every namespace. @param every Seconds. */
export const filledIn = (expr: string, { every }: { every: number }): string =>
  expr.replaceAll('$namespace', '.*').replaceAll(EVERY, `${every}s`);

/** The p-th part of the observations of a histogram lies below this, by these labels. */
export function quantile(p: number, metric: string, by: readonly string[] = []): string {
  const labels = ['le', ...by].join(', ');
  return `histogram_quantile(${p}, sum by (${labels}) (rate(${metric}_bucket{${OF}}[${EVERY}])))`;
}

/** How often in a second, by this label. */
export const perSecond = (metric: string, by: string, matchers = ''): string =>
  `sum by (${by}) (rate(${metric}{${OF}${matchers}}[${EVERY}]))`;

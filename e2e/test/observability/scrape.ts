import type { Series } from '@dueline/observability';

/** One place that serves metrics, and how Prometheus is told of it. */
export interface Target {
  readonly job: string;
  /** With its path and query. */
  readonly url: string;
}

export interface Scraped {
  readonly series: readonly Series[];
  /** Metrics that are declared, with series or without. */
  readonly declared: ReadonlySet<string>;
}

/** What a target serves now, as Prometheus would keep it: with `job`, and the target's own labels before it. */
export async function scrape({ job, url }: Target): Promise<Scraped> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${job} answered ${response.status} at ${url}`);
  const lines = (await response.text()).split('\n');
  return {
    series: lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => ({ job, ...seriesOf(line) })),
    declared: new Set(lines.flatMap((line) => /^# TYPE (\w+)/.exec(line)?.[1] ?? [])),
  };
}

const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

function seriesOf(line: string): Series {
  const [, name = '', labels = ''] = /^([\w:]+)(?:\{(.*)\})? /.exec(line) ?? [];
  return {
    ...Object.fromEntries([...labels.matchAll(LABEL)].map(([, label, value]) => [label, value])),
    __name__: name,
  };
}

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { createTaskMetrics, type TaskMetrics } from './task-metrics.ts';
import { within } from './within.ts';

type MetricOptions<Label extends string> = {
  readonly name: `dueline_${string}`;
  readonly help: string;
  readonly labels?: readonly Label[];
};

/** The metrics of one process. Names are `dueline_*` in base units; labels have few values, never an id of a user or rule. */
export type Metrics = {
  /**
   * `from0`: values of the labels that are there from the start, as 0. Prometheus sees no increase in a series that begins with 1, so
   * an alert on it would miss the first time.
   */
  counter<Label extends string = never>(
    options: MetricOptions<Label> & { readonly from0?: Readonly<Record<Label, readonly string[]>> },
  ): Counter<Label>;
  /** `buckets` in the unit of the name, ascending. */
  histogram<Label extends string = never>(
    options: MetricOptions<Label> & { readonly buckets: readonly number[] },
  ): Histogram<Label>;
  /**
   * `collect` runs at each scrape and sets the value. When it throws or takes more than a second the gauge is left out
   * of that scrape and counted in `dueline_metric_collect_errors_total`; the other metrics are served.
   */
  gauge<Label extends string = never>(
    options: MetricOptions<Label> & { readonly collect?: (gauge: Gauge<Label>) => void | Promise<void> },
  ): Gauge<Label>;
  /** Watches a repeated task of this process: its runs, how long they take, and when it last went well. */
  task: TaskMetrics;
  /** All metrics in the Prometheus text format. */
  text(): Promise<string>;
  readonly contentType: string;
};

const COLLECT_TIMEOUT_MS = 1_000;

/**
 * A registry of its own with the default metrics of Node; every series carries the label `service`.
 *
 * @param options.version Of this build, as `dueline_build_info` tells it; without one there is no such series.
 */
export function createMetrics({ service, version }: { service: string; version?: string }): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  const collectErrors = new Counter({
    name: 'dueline_metric_collect_errors_total',
    help: 'Gauges that could not be read for a scrape.',
    labelNames: ['metric'],
    registers: [registry],
  });
  if (version !== undefined) addBuildInfo(registry, version);

  const base = <Label extends string>({ name, help, labels = [] }: MetricOptions<Label>) => ({
    name,
    help,
    labelNames: labels,
    registers: [registry],
  });

  return {
    counter({ from0, ...options }) {
      const counter = new Counter(base(options));
      for (const labels of combinations(from0)) counter.inc(labels, 0);
      return counter;
    },
    histogram: (options) => new Histogram({ ...base(options), buckets: [...options.buckets] }),
    gauge({ collect, ...options }) {
      if (collect === undefined) return new Gauge(base(options));
      return new Gauge({
        ...base(options),
        async collect() {
          try {
            await within(COLLECT_TIMEOUT_MS, Promise.resolve(collect(this)));
          } catch {
            collectErrors.inc({ metric: options.name });
            this.reset();
            if ((options.labels ?? []).length === 0) this.remove();
          }
        },
      });
    },
    task: createTaskMetrics(registry),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** Each combination of one value for every label. */
function combinations<Label extends string>(
  values: Readonly<Record<Label, readonly string[]>> | undefined,
): Partial<Record<Label, string>>[] {
  if (values === undefined) return [];
  return (Object.keys(values) as Label[]).reduce<Partial<Record<Label, string>>[]>(
    (combined, label) => combined.flatMap((one) => values[label].map((value) => ({ ...one, [label]: value }))),
    [{}],
  );
}

function addBuildInfo(registry: Registry, version: string): void {
  const build = new Gauge({
    name: 'dueline_build_info',
    help: 'The version that runs; always 1.',
    labelNames: ['version'],
    registers: [registry],
  });
  build.set({ version }, 1);
}

import type { Metrics } from '@dueline/runtime';
import type { LimitEvent } from './limits.ts';

/** An account that asked for nothing for so long has no rate to speak of. */
const RECENT_MS = 60_000;

/** Counts what the limits do. Accounts are no label: of their rates the lowest is told. */
export function limitMetrics(metrics: Metrics, isShared: () => boolean): (event: LimitEvent) => void {
  const endpoint = { labels: ['endpoint'] } as const;
  const permits = metrics.counter({
    name: 'dueline_line_permits_total',
    help: 'Permits to call LINE taken.',
    ...endpoint,
  });
  const waits = metrics.histogram({
    name: 'dueline_line_permit_wait_seconds',
    help: 'How long permits were waited for, by round trip.',
    ...endpoint,
    buckets: [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1],
  });
  const putBack = metrics.counter({
    name: 'dueline_line_put_back_total',
    help: 'Deliveries put back because their permit was more than a second away.',
    ...endpoint,
    from0: { endpoint: ['push', 'multicast'] },
  });
  const halvings = metrics.counter({
    name: 'dueline_line_rate_halvings_total',
    help: 'Times that LINE had too many requests and an account went on at half its rate.',
    ...endpoint,
    from0: { endpoint: ['push', 'multicast'] },
  });
  const rates = new Map<string, { endpoint: string; share: number; atMs: number }>();
  metrics.gauge({
    name: 'dueline_line_rate_ratio',
    help: 'Lowest rate of an account served within a minute, as a part of what we allow ourselves.',
    ...endpoint,
    collect: (gauge) => {
      gauge.reset();
      for (const [name, rate] of rates) if (rate.atMs < performance.now() - RECENT_MS) rates.delete(name);
      for (const [name, of] of Map.groupBy(rates.values(), (rate) => rate.endpoint))
        gauge.set({ endpoint: name }, Math.min(...of.map(({ share }) => share)));
    },
  });
  metrics.gauge({
    name: 'dueline_line_limits_shared',
    help: '1 while the replicas share the limits in Redis, 0 while each keeps to its own share.',
    collect: (gauge) => gauge.set(isShared() ? 1 : 0),
  });
  return (event) => {
    const label = { endpoint: event.endpoint };
    if (event.type === 'permits') {
      permits.inc(label, event.count);
      waits.observe(label, event.waitMs / 1_000);
    }
    if (event.type === 'put_back') putBack.inc(label, event.count);
    if (event.type === 'halved') halvings.inc(label);
    if (event.type === 'rate') {
      const name = `${event.endpoint}:${event.lineOaId}`;
      rates.set(name, { endpoint: event.endpoint, share: event.share, atMs: performance.now() });
    }
  };
}

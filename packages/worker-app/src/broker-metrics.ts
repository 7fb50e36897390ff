import type { BrokerEvent } from '@dueline/mq';
import type { Metrics } from '@dueline/runtime';

/** Counts what the broker tells; the labels are bounded by the queues there are. */
export function brokerMetrics(metrics: Metrics): (event: BrokerEvent) => void {
  const published = metrics.counter({
    name: 'dueline_mq_publish_total',
    help: 'Messages published, by what became of them.',
    labels: ['queue', 'result'],
  });
  const consumed = metrics.counter({
    name: 'dueline_mq_consume_total',
    help: 'Messages consumed, by how they ended.',
    labels: ['queue', 'result'],
  });
  const handling = metrics.histogram({
    name: 'dueline_mq_handler_seconds',
    help: 'Time from delivery to settlement of a message.',
    labels: ['queue'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
  });
  const failures = metrics.counter({
    name: 'dueline_mq_handler_failures_total',
    help: 'Tries of a handler that threw.',
    labels: ['queue', 'kind'],
  });
  const reconnects = metrics.counter({
    name: 'dueline_mq_connections_total',
    help: 'Connections made to the broker; more than one of a role is a reconnect.',
    labels: ['role'],
  });
  const blocked = metrics.gauge({ name: 'dueline_mq_blocked', help: '1 while the broker blocks publishers, else 0.' });
  blocked.set(0);
  return (event) => {
    if (event.type === 'published') published.inc({ queue: event.queue, result: event.result });
    if (event.type === 'consumed') {
      consumed.inc({ queue: event.queue, result: event.result });
      handling.observe({ queue: event.queue }, event.ms / 1_000);
    }
    if (event.type === 'handler_failed') failures.inc({ queue: event.queue, kind: event.kind });
    if (event.type === 'connected') reconnects.inc({ role: event.role });
    if (event.type === 'blocked') blocked.set(event.blocked ? 1 : 0);
  };
}

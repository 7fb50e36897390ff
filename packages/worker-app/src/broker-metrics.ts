import type { Broker, BrokerEvent } from '@dueline/mq';
import type { Metrics } from '@dueline/runtime';

const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];
/** How long a message waits is worth telling up to hours: that is what piles up. */
const WAIT_SECONDS = [0.005, 0.025, 0.1, 0.5, 2, 10, 60, 300, 3_600];

export interface BrokerMetrics {
  /** Counts what the broker tells. */
  readonly onEvent: (event: BrokerEvent) => void;
  /** Shows what this process has in hand of the broker, as it is at each scrape. */
  watch(broker: Pick<Broker, 'inHand'>): void;
}

/** What is measured of the broker; the labels are bounded by the queues there are. */
export function brokerMetrics(metrics: Metrics): BrokerMetrics {
  const { count, begin } = messageMetrics(metrics);
  const failures = metrics.counter({
    name: 'dueline_mq_handler_failures_total',
    help: 'Tries of a handler that threw.',
    labels: ['queue', 'kind'],
  });
  const reconnects = metrics.counter({
    name: 'dueline_mq_connections_total',
    help: 'Connections made to the broker; more than one of a role is a reconnect.',
    labels: ['role'],
    from0: { role: ['publish', 'consume'] },
  });
  const blocked = metrics.gauge({ name: 'dueline_mq_blocked', help: '1 while the broker blocks publishers, else 0.' });
  blocked.set(0);
  return {
    onEvent: (event) => {
      if (event.type === 'published' || event.type === 'consumed') count(event);
      if (event.type === 'consuming') begin(event.queue);
      if (event.type === 'handler_failed') failures.inc({ queue: event.queue, kind: event.kind });
      if (event.type === 'connected') reconnects.inc({ role: event.role });
      if (event.type === 'blocked') blocked.set(event.blocked ? 1 : 0);
    },
    watch: (broker) => inHandMetrics(metrics, broker),
  };
}

type MessageEvent = Extract<BrokerEvent, { type: 'published' | 'consumed' }>;

interface MessageMetrics {
  count(event: MessageEvent): void;
  /** Dead letters of a queue that is consumed here are counted from 0, so that the first one is an increase. */
  begin(queue: string): void;
}

function messageMetrics(metrics: Metrics): MessageMetrics {
  const published = familyOf(metrics, {
    total: { name: 'dueline_mq_publish_total', help: 'Messages published, by what became of them.' },
    seconds: {
      name: 'dueline_mq_publish_seconds',
      help: "Time from a publish to the broker's confirmation, or until it was given up, in seconds.",
    },
  });
  const consumed = familyOf(metrics, {
    total: { name: 'dueline_mq_consume_total', help: 'Messages consumed, by how they ended.' },
    seconds: {
      name: 'dueline_mq_handler_seconds',
      help: 'Time from delivery to settlement of a message, in seconds.',
    },
  });
  const waiting = metrics.histogram({
    name: 'dueline_mq_delivery_age_seconds',
    help: 'Age of a message when it was delivered, in seconds; a repeated delivery counts from the first publish.',
    labels: ['queue'],
    buckets: WAIT_SECONDS,
  });
  return {
    count(event) {
      if (event.type === 'published') return published.count(event);
      consumed.count(event);
      if (event.waitedMs !== undefined) waiting.observe({ queue: event.queue }, event.waitedMs / 1_000);
    },
    begin: (queue) => consumed.begin({ queue, result: 'dead_lettered' }),
  };
}

interface Named {
  readonly name: `dueline_${string}`;
  readonly help: string;
}

/** Messages of each queue, by what became of them, and how long that took. */
function familyOf(metrics: Metrics, { total, seconds }: { readonly total: Named; readonly seconds: Named }) {
  const messages = metrics.counter({ ...total, labels: ['queue', 'result'] });
  const took = metrics.histogram({ ...seconds, labels: ['queue'], buckets: SECONDS });
  return {
    count({ queue, result, ms }: Pick<MessageEvent, 'queue' | 'result' | 'ms'>): void {
      messages.inc({ queue, result });
      took.observe({ queue }, ms / 1_000);
    },
    begin: (labels: { queue: string; result: string }): void => messages.inc(labels, 0),
  };
}

function inHandMetrics(metrics: Metrics, broker: Pick<Broker, 'inHand'>): void {
  metrics.gauge({
    name: 'dueline_mq_unconfirmed',
    help: "Publishes that wait for the broker's confirmation; one may carry many messages.",
    collect: (gauge) => gauge.set(broker.inHand().unconfirmed),
  });
  metrics.gauge({
    name: 'dueline_mq_consumer_up',
    help: '1 while this process is subscribed to the queue, 0 while it tries to be.',
    labels: ['queue'],
    collect: (gauge) => {
      gauge.reset(); // a queue that is drained is not missed
      for (const { queue, isSubscribed } of broker.inHand().consumers) gauge.set({ queue }, isSubscribed ? 1 : 0);
    },
  });
  metrics.gauge({
    name: 'dueline_mq_in_hand',
    help: 'Messages that this process handles now.',
    labels: ['queue'],
    collect: (gauge) => {
      gauge.reset();
      for (const { queue, messages } of broker.inHand().consumers) gauge.set({ queue }, messages);
    },
  });
}

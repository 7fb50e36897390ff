import { EXCHANGES, type Queue, type Tick } from '@dueline/contracts';

/** Where a consumer puts what it is too old for; a fanout, so that the routing key can name the queue to return to. */
export const RETRY_EXCHANGE = 'dueline.retry.10m';
const RETRY_QUEUE = 'retry.10m';
const REQUEUE_EXCHANGE = 'dueline.requeue';

/** Milliseconds that a message of a later version stays in the tier. */
export const RETRY_TIER_MS = 10 * 60 * 1_000;

export interface ExchangeSpec {
  readonly name: string;
  readonly type: 'topic' | 'direct' | 'fanout';
}

export interface BindingSpec {
  readonly exchange: string;
  readonly queue: string;
  readonly routingKey: string;
}

export interface PolicySpec {
  readonly name: string;
  /** Matches exactly one queue. */
  readonly pattern: string;
  readonly priority: number;
  readonly definition: Readonly<Record<string, string | number>>;
}

/** Everything that exists in the broker. All of it is durable, all queues are quorum queues. */
export interface Topology {
  readonly exchanges: readonly ExchangeSpec[];
  readonly queues: readonly string[];
  readonly bindings: readonly BindingSpec[];
  readonly policies: readonly PolicySpec[];
}

/** The name of the queue that keeps what `queue` could not handle. */
export const deadLetterQueue = (queue: string): string => `${queue}.dlq`;

/**
 * The topology of a set of work queues, as data; declaring, checking and documentation are made from it.
 * Only the queue type is an argument, which can never be changed; everything else is policy, which can.
 *
 * @param retryTierMs Time in the retry tier, in milliseconds; tests use less than the ten minutes of its name.
 */
export function describeTopology(
  queues: readonly Queue<unknown>[],
  { retryTierMs = RETRY_TIER_MS }: { retryTierMs?: number } = {},
): Topology {
  const ticks = queues.filter(({ tick }) => tick !== undefined);
  const works = queues.filter(({ tick }) => tick === undefined);
  const names = works.map(({ name }) => name);
  return {
    exchanges: [
      { name: EXCHANGES.commands, type: 'topic' },
      { name: EXCHANGES.events, type: 'topic' },
      { name: EXCHANGES.deadLetters, type: 'direct' },
      { name: RETRY_EXCHANGE, type: 'fanout' },
      { name: REQUEUE_EXCHANGE, type: 'direct' },
    ],
    queues: [...names.flatMap((name) => [name, deadLetterQueue(name)]), ...ticks.map(({ name }) => name), RETRY_QUEUE],
    bindings: [
      ...ticks.map(({ name, exchange }) => ({ exchange, queue: name, routingKey: name })),
      ...works.flatMap(({ name, exchange }) => [
        { exchange, queue: name, routingKey: name },
        { exchange: REQUEUE_EXCHANGE, queue: name, routingKey: name },
        { exchange: EXCHANGES.deadLetters, queue: deadLetterQueue(name), routingKey: name },
      ]),
      { exchange: RETRY_EXCHANGE, queue: RETRY_QUEUE, routingKey: '' },
    ],
    policies: [
      ...names.flatMap((name) => [workPolicy(name), deadLetterPolicy(deadLetterQueue(name))]),
      ...ticks.flatMap(({ name, tick }) => (tick === undefined ? [] : [tickPolicy(name, tick)])),
      policy(RETRY_QUEUE, {
        'message-ttl': retryTierMs,
        'dead-letter-exchange': REQUEUE_EXCHANGE,
        'dead-letter-strategy': 'at-least-once',
        overflow: 'reject-publish',
      }),
    ],
  };
}

const policy = (queue: string, definition: PolicySpec['definition']): PolicySpec => ({
  name: `dueline.${queue}`,
  pattern: `^${queue.replaceAll('.', '\\.')}$`,
  priority: 10,
  definition,
});

// The routing key is fixed because it differs by path: an event's name at first, the queue's name after the tier.
const workPolicy = (queue: string): PolicySpec =>
  policy(queue, {
    'delivery-limit': 20,
    'dead-letter-exchange': EXCHANGES.deadLetters,
    'dead-letter-routing-key': queue,
    'dead-letter-strategy': 'at-least-once',
    overflow: 'reject-publish',
    'max-length': 500_000,
  });

// The newest tick replaces the one that waits: after an hour without a consumer there is one pass to make, not sixty.
const tickPolicy = (queue: string, { ttlMs }: Tick): PolicySpec =>
  policy(queue, { 'max-length': 1, overflow: 'drop-head', 'message-ttl': ttlMs });

// Looking at a dead letter and putting it back counts as a delivery: with the default limit of RabbitMQ 4 (20) the
// broker would throw it away after 20 looks. Older brokers have no "unlimited", hence a large number.
const deadLetterPolicy = (queue: string): PolicySpec =>
  policy(queue, { 'delivery-limit': 1_000_000, overflow: 'reject-publish', 'max-length': 100_000 });

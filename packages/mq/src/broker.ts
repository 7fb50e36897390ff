import { QUEUES, type Queue } from '@dueline/contracts';
import { errorText, ServiceError } from '@dueline/kernel';
import type { ConsumeMessage } from 'amqplib';
import { createConsumer, DEFAULT_GRACE_MS, type ManagedConsumer } from './consumer.ts';
import { createHealth, type Health } from './health.ts';
import { createLink, type Link } from './link.ts';
import { createPublisher, type Publisher } from './publisher.ts';
import { createSettledCheck, createWaitingCount } from './settled.ts';
import { describeTopology } from './topology.ts';
import type { Broker, BrokerEvent, ConsumeOptions, Consumer, Emit, Handler, Log } from './types.ts';
import { watchTopology } from './verify.ts';

const FLUSH_MS = 5_000;

export interface BrokerOptions {
  /** AMQP URL with the vhost as its path. */
  readonly url: string;
  /** The app, for the envelope's source and the connections' names. */
  readonly appId: string;
  readonly log: Log;
  /** Told what happens, for metrics. What it throws is logged. */
  readonly onEvent?: (event: BrokerEvent) => void;
  /** Queues that must exist for `ready`; every queue of the contracts when not given. */
  readonly queues?: readonly Queue<unknown>[];
  /** Milliseconds until an unconfirmed publish settles with `timeout`; 5,000 when not given. */
  readonly publishTimeoutMs?: number;
  /** Seconds; a silent broker is noticed after two to three of them. 10 when not given. */
  readonly heartbeatSeconds?: number;
  /** Milliseconds for dialling and handshake; 5,000 when not given. */
  readonly connectTimeoutMs?: number;
}

interface Parts {
  readonly publishLink: Link;
  readonly consumeLink: Link;
  readonly publisher: Publisher;
  readonly consumers: ManagedConsumer[];
  readonly health: Health;
  readonly log: Log;
  readonly emit: Emit;
}

/**
 * Connects to RabbitMQ with one connection for publishing and one for consuming, because a blocked publisher must not
 * keep acknowledgements from being read. Returns at once; connects and reconnects inside, for ever, with full jitter of
 * 200 ms to 10 s. Throws only for a URL that cannot be parsed.
 */
export function connectBroker(options: BrokerOptions): Broker {
  if (!URL.canParse(options.url)) throw new ServiceError('AMQP URL cannot be parsed');
  const parts = assemble(options);
  const { publisher, publishLink, consumeLink, consumers, health, log } = parts;
  const inHand = () => publisher.inFlight() + consumers.reduce((sum, consumer) => sum + consumer.inHand(), 0);
  const queues = () => consumers.map(({ queueName }) => queueName);
  const countWaiting = createWaitingCount(consumeLink, log);
  const settled = createSettledCheck(countWaiting, { inHand, queues });
  let closing: Promise<void> | undefined;
  return {
    publish: publisher.publish,
    consume: (queue, handler, consumeOptions) => addConsumer(parts, { queue, handler, ...consumeOptions }),
    state: () => health.state(publishLink.isBlocked()),
    problems: health.problems,
    ready: health.ready,
    waiting: ({ name }) => countWaiting([name]),
    inHand: () => ({
      unconfirmed: publisher.inFlight(),
      consumers: consumers
        .filter((consumer) => !consumer.isDrained())
        .map((one) => ({ queue: one.queueName, isSubscribed: one.isSubscribed(), messages: one.inHand() })),
    }),
    publishingLost: publishLink.timesLost,
    settled,
    close: () => {
      closing ??= closeAll(parts);
      return closing;
    },
  };
}

function assemble(options: BrokerOptions): Parts {
  const { url, appId, log, queues = QUEUES } = options;
  const { publishTimeoutMs: timeoutMs = 5_000, heartbeatSeconds = 10, connectTimeoutMs = 5_000 } = options;
  const emit = totalEmit(options);
  const consumers: ManagedConsumer[] = [];
  const health = createHealth(() => [
    ...(publishLink.isUp() ? [] : ['publish connection is down']),
    ...(publishLink.isUp() && !publisher.isReady() ? ['no channel to publish on'] : []),
    ...(publishLink.isBlocked() ? ['broker blocks publishers'] : []),
    ...(consumeLink.isUp() ? topology.problems() : ['consume connection is down']),
    ...consumers
      .filter((consumer) => !consumer.isDrained() && !consumer.isSubscribed())
      .map(({ queueName }) => `queue ${queueName} is not subscribed`),
  ]);
  const { changed } = health;
  const common = { url, appId, heartbeatSeconds, connectTimeoutMs, log, emit, changed };
  const publishLink = createLink({ ...common, role: 'publish' });
  const consumeLink = createLink({ ...common, role: 'consume' });
  const publisher = createPublisher({ link: publishLink, appId, timeoutMs, log, emit, changed });
  const topology = watchTopology(consumeLink, { topology: describeTopology(queues), log, changed });
  return { publishLink, consumeLink, publisher, consumers, health, log, emit };
}

function addConsumer<Data>(
  { consumeLink, publisher, consumers, health, log, emit }: Parts,
  options: ConsumeOptions & { readonly queue: Queue<Data>; readonly handler: Handler<Data> },
): Consumer {
  const { queue, handler, concurrency, handlerTimeoutMs = 60_000 } = options;
  const defer = (delivery: ConsumeMessage) => publisher.defer(queue, delivery);
  const context = { queue, handler, handlerTimeoutMs, log, emit, defer, troubled: new Set<object>() };
  const consumer = createConsumer({ link: consumeLink, context, concurrency, changed: health.changed });
  consumers.push(consumer);
  emit({ type: 'consuming', queue: queue.name });
  return { drain: consumer.drain };
}

async function closeAll({ publishLink, consumeLink, publisher, consumers, health }: Parts): Promise<void> {
  health.close();
  await Promise.all(consumers.map((consumer) => consumer.drain(DEFAULT_GRACE_MS)));
  await publisher.flush(FLUSH_MS);
  // Closing a channel is a round trip: the acknowledgements sent before it have arrived when it ends.
  await Promise.all([...consumers.map((consumer) => consumer.closeChannel()), publisher.closeChannel()]);
  await Promise.all([publishLink.close(), consumeLink.close()]);
}

function totalEmit({ onEvent, log }: BrokerOptions): Emit {
  return (event) => {
    try {
      onEvent?.(event);
    } catch (error) {
      log.error({ error: errorText(error), event: event.type }, 'listener for broker events threw');
    }
  };
}

import { QUEUES, type Queue } from '@dueline/contracts';
import { errorText, ServiceError, sleep } from '@dueline/kernel';
import type { ChannelModel, ConsumeMessage } from 'amqplib';
import { createConsumer, DEFAULT_GRACE_MS, type ManagedConsumer } from './consumer.ts';
import { createLink } from './link.ts';
import { createPublisher } from './publisher.ts';
import { describeTopology } from './topology.ts';
import type { Broker, BrokerEvent, BrokerState, Emit, Log } from './types.ts';
import { watchTopology } from './verify.ts';

const FLUSH_MS = 5_000;
const SETTLED_POLL_MS = 20;
/** Looks that must agree before a queue counts as empty: a message can be on its way from the broker to us. */
const SETTLED_LOOKS = 2;

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

/**
 * Connects to RabbitMQ with one connection for publishing and one for consuming, because a blocked publisher must not
 * keep acknowledgements from being read. Returns at once; connects and reconnects inside, for ever, with full jitter of
 * 200 ms to 10 s. Throws only for a URL that cannot be parsed.
 */
export function connectBroker(options: BrokerOptions): Broker {
  const { url, appId, log, publishTimeoutMs = 5_000, queues = QUEUES } = options;
  const { heartbeatSeconds = 10, connectTimeoutMs = 5_000 } = options;
  if (!URL.canParse(url)) throw new ServiceError('AMQP URL cannot be parsed');
  const emit = totalEmit(options);
  const consumers: ManagedConsumer[] = [];
  const health = createHealth(() => findProblems());
  const { changed } = health;
  const common = { url, appId, heartbeatSeconds, connectTimeoutMs, log, emit, changed };
  const publishLink = createLink({ ...common, role: 'publish' });
  const consumeLink = createLink({ ...common, role: 'consume' });
  const publisher = createPublisher({ link: publishLink, appId, timeoutMs: publishTimeoutMs, log, emit, changed });
  const topology = watchTopology(consumeLink, { topology: describeTopology(queues), log, changed });
  let probe: ChannelModel | undefined;
  consumeLink.onConnection((connection) => {
    probe = connection;
  });

  const findProblems = (): readonly string[] => [
    ...(publishLink.isUp() ? [] : ['publish connection is down']),
    ...(publishLink.isUp() && !publisher.isReady() ? ['no channel to publish on'] : []),
    ...(publishLink.isBlocked() ? ['broker blocks publishers'] : []),
    ...(consumeLink.isUp() ? topology.problems() : ['consume connection is down']),
    ...consumers
      .filter((consumer) => !consumer.isDrained() && !consumer.isSubscribed())
      .map(({ queueName }) => `queue ${queueName} is not subscribed`),
  ];
  const inHand = () => publisher.inFlight() + consumers.reduce((sum, consumer) => sum + consumer.inHand(), 0);

  const closeAll = async () => {
    health.close();
    await Promise.all(consumers.map((consumer) => consumer.drain(DEFAULT_GRACE_MS)));
    await publisher.flush(FLUSH_MS);
    await Promise.all([...consumers.map((consumer) => consumer.closeChannel()), publisher.closeChannel()]);
    await Promise.all([publishLink.close(), consumeLink.close()]);
  };
  let closing: Promise<void> | undefined;

  return {
    publish: publisher.publish,
    consume: (queue, handler, { concurrency, handlerTimeoutMs = 60_000 }) => {
      const context = { queue, handler, handlerTimeoutMs, log, emit, troubled: new Set<object>() };
      const defer = (delivery: ConsumeMessage) => publisher.defer(queue, delivery);
      const consumer = createConsumer({ link: consumeLink, context: { ...context, defer }, concurrency, changed });
      consumers.push(consumer);
      changed();
      return { drain: consumer.drain };
    },
    state: () => health.state(publishLink.isBlocked()),
    problems: findProblems,
    ready: health.ready,
    settled: () =>
      untilSettled(() => probe, { inHand, queues: () => consumers.map(({ queueName }) => queueName), log }),
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
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

function createHealth(problems: () => readonly string[]) {
  let closed = false;
  let waiters: PromiseWithResolvers<void>[] = [];
  const state = (blocked: boolean): BrokerState => {
    if (closed) return 'closed';
    if (blocked) return 'blocked';
    return problems().length === 0 ? 'ready' : 'connecting';
  };
  const changed = () => {
    if (waiters.length === 0 || state(false) !== 'ready') return;
    for (const waiter of waiters) waiter.resolve();
    waiters = [];
  };
  return {
    state,
    changed,
    ready: (): Promise<void> => {
      if (closed) return Promise.reject(new ServiceError('broker is closed'));
      const waiter = Promise.withResolvers<void>();
      waiters.push(waiter);
      changed();
      return waiter.promise;
    },
    close: () => {
      closed = true;
      for (const waiter of waiters) waiter.reject(new ServiceError('broker is closed'));
      waiters = [];
    },
  };
}

interface SettledOptions {
  readonly inHand: () => number;
  readonly queues: () => readonly string[];
  readonly log: Log;
}

async function untilSettled(connection: () => ChannelModel | undefined, options: SettledOptions): Promise<void> {
  for (let quiet = 0; quiet < SETTLED_LOOKS; ) {
    const idle = options.inHand() === 0 && (await areEmpty(connection(), options)) && options.inHand() === 0;
    quiet = idle ? quiet + 1 : 0;
    if (quiet < SETTLED_LOOKS) await sleep(SETTLED_POLL_MS);
  }
}

async function areEmpty(connection: ChannelModel | undefined, { queues, log }: SettledOptions): Promise<boolean> {
  try {
    const channel = await connection?.createChannel();
    if (channel === undefined) return false;
    channel.on('error', (error) => log.debug({ error: errorText(error) }, 'queue cannot be looked at'));
    const looks = await Promise.all(queues().map((queue) => channel.checkQueue(queue)));
    await channel.close();
    return looks.every(({ messageCount }) => messageCount === 0);
  } catch (error) {
    log.debug({ error: errorText(error) }, 'queues cannot be looked at');
    return false;
  }
}

import { fullJitterMs, sleep } from '@dueline/kernel';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { type DeliveryContext, type Lease, processDelivery } from './delivery.ts';
import type { Link } from './link.ts';
import type { Consumer } from './types.ts';
import { aborted, BACKOFF, errorFields, STABLE_MS, within } from './waiting.ts';

const RPC_TIMEOUT_MS = 2_000;
/** After the grace, what a handler gets to react to its signal. */
const ABORT_REACTION_MS = 1_000;
export const DEFAULT_GRACE_MS = 20_000;

export interface ManagedConsumer extends Consumer {
  readonly queueName: string;
  isSubscribed(): boolean;
  isDrained(): boolean;
  /** Deliveries that have not ended. */
  inHand(): number;
  closeChannel(): Promise<void>;
}

/** One channel with one subscription. */
interface Session {
  readonly channel: Channel;
  readonly consumerTag: string;
  readonly ended: AbortController;
  readonly revoked: AbortController;
  readonly lost: AbortSignal;
}

export interface ConsumerDeps<Data> {
  readonly link: Link;
  readonly context: DeliveryContext<Data>;
  readonly concurrency: number;
  readonly changed: () => void;
}

export function createConsumer<Data>(deps: ConsumerDeps<Data>): ManagedConsumer {
  const { link, context, changed } = deps;
  const { log } = context;
  const queue = context.queue.name;
  const draining = new AbortController();
  const running = new Set<Promise<void>>();
  let session: Session | undefined;
  let opening: Promise<unknown> = Promise.resolve();
  let drained: Promise<void> | undefined;

  const take = (delivery: ConsumeMessage, lease: Lease) => {
    const work = processDelivery(context, delivery, lease);
    running.add(work);
    void work.finally(() => running.delete(work));
  };

  const subscribeOnce = async (connection: ChannelModel): Promise<void> => {
    const open = openSession(connection, deps, take);
    opening = open;
    const opened = await open;
    session = opened;
    changed();
    log.info({ queue, concurrency: deps.concurrency }, 'subscribed');
    if (draining.signal.aborted) await stopTaking(opened, context);
    await aborted(opened.ended.signal);
    if (draining.signal.aborted) return; // the channel stays: running handlers acknowledge on it
    changed();
    if (opened.lost.aborted) return;
    await within(context.handlerTimeoutMs, Promise.allSettled(running), log); // cancelled by the broker
    await within(RPC_TIMEOUT_MS, opened.channel.close(), log);
  };

  const keepSubscribed = async (connection: ChannelModel, gone: AbortSignal): Promise<void> => {
    const over = AbortSignal.any([gone, draining.signal]);
    for (let failures = 0; !over.aborted; ) {
      const startedAt = performance.now();
      try {
        await subscribeOnce(connection);
        if (!over.aborted) log.error({ queue }, 'subscription lost');
      } catch (error) {
        if (failures === 0 && !over.aborted) log.error({ queue, ...errorFields(error) }, 'cannot subscribe');
      }
      failures = performance.now() - startedAt > STABLE_MS ? 0 : failures + 1;
      await sleep(fullJitterMs(failures, BACKOFF), over);
    }
  };
  link.onConnection((connection, gone) => void keepSubscribed(connection, gone));

  const drain = async (graceMs: number): Promise<void> => {
    draining.abort();
    await within(RPC_TIMEOUT_MS, opening, log);
    if (session !== undefined) await stopTaking(session, context);
    await within(graceMs, Promise.allSettled(running), log);
    if (running.size === 0) return;
    log.warn({ queue, unfinished: running.size }, 'drain: grace is over, unfinished messages go back');
    session?.revoked.abort();
    await within(ABORT_REACTION_MS, Promise.allSettled(running), log);
  };

  return {
    queueName: queue,
    drain: (graceMs = DEFAULT_GRACE_MS) => {
      drained ??= drain(graceMs);
      return drained;
    },
    isSubscribed: () => session !== undefined && !session.ended.signal.aborted,
    isDrained: () => draining.signal.aborted,
    inHand: () => running.size,
    closeChannel: async () => {
      if (session !== undefined) await within(RPC_TIMEOUT_MS, session.channel.close(), log);
    },
  };
}

/** basic.cancel; what was delivered before the broker's answer is handled like the rest. */
async function stopTaking<Data>({ channel, consumerTag, ended }: Session, { log }: DeliveryContext<Data>) {
  if (ended.signal.aborted) return;
  await within(RPC_TIMEOUT_MS, channel.cancel(consumerTag), log);
  ended.abort();
}

async function openSession<Data>(
  connection: ChannelModel,
  { context: { queue, log }, concurrency }: ConsumerDeps<Data>,
  take: (delivery: ConsumeMessage, lease: Lease) => void,
): Promise<Session> {
  const channel = await connection.createChannel();
  const [ended, revoked, lost] = [new AbortController(), new AbortController(), new AbortController()];
  const fields = { queue: queue.name };
  // A lost channel tells its consumers nothing: neither an empty delivery nor a cancel.
  channel.on('close', () => {
    for (const controller of [lost, revoked, ended]) controller.abort();
  });
  channel.on('error', (error) => log.debug({ ...fields, ...errorFields(error) }, 'consume channel failed'));
  channel.on('handler-error', (error) => log.error({ ...fields, ...errorFields(error) }, 'consume listener threw'));
  const settle = (act: (delivery: ConsumeMessage) => void) => (delivery: ConsumeMessage) => {
    if (lost.signal.aborted) return false;
    try {
      act(delivery);
      return true;
    } catch (error) {
      log.warn({ ...fields, ...errorFields(error) }, 'message could not be settled, it comes again');
      return false;
    }
  };
  const lease: Lease = {
    ended: ended.signal,
    revoked: revoked.signal,
    ack: settle((delivery) => channel.ack(delivery)),
    reject: settle((delivery) => channel.reject(delivery, false)),
  };
  await channel.prefetch(concurrency);
  const onDelivery = (delivery: ConsumeMessage | null) => (delivery === null ? ended.abort() : take(delivery, lease));
  const { consumerTag } = await channel.consume(queue.name, onDelivery);
  return { channel, consumerTag, ended, revoked, lost: lost.signal };
}

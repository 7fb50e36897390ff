import { fullJitterMs, sleep } from '@dueline/kernel';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { type DeliveryContext, type Lease, processDelivery } from './delivery.ts';
import type { Link } from './link.ts';
import type { Consumer } from './types.ts';
import { aborted, BACKOFF, close, errorFields, STABLE_MS, within } from './waiting.ts';

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

interface ConsumerState<Data> {
  readonly deps: ConsumerDeps<Data>;
  readonly draining: AbortController;
  /** Deliveries that have not ended, of this session and of earlier ones. */
  readonly running: Set<Promise<void>>;
  session: Session | undefined;
  opening: Promise<unknown>;
}

export function createConsumer<Data>(deps: ConsumerDeps<Data>): ManagedConsumer {
  const { link, context } = deps;
  const state: ConsumerState<Data> = {
    deps,
    draining: new AbortController(),
    running: new Set(),
    session: undefined,
    opening: Promise.resolve(),
  };
  let drained: Promise<void> | undefined;
  link.onConnection((connection, gone) => void keepSubscribed(state, connection, gone));
  return {
    queueName: context.queue.name,
    drain: (graceMs = DEFAULT_GRACE_MS) => {
      drained ??= drain(state, graceMs);
      return drained;
    },
    isSubscribed: () => state.session !== undefined && !state.session.ended.signal.aborted,
    isDrained: () => state.draining.signal.aborted,
    inHand: () => state.running.size,
    closeChannel: async () => {
      if (state.session !== undefined) await within(RPC_TIMEOUT_MS, close(state.session.channel), context.log);
    },
  };
}

async function keepSubscribed<Data>(
  state: ConsumerState<Data>,
  connection: ChannelModel,
  gone: AbortSignal,
): Promise<void> {
  const { log, queue } = state.deps.context;
  const over = AbortSignal.any([gone, state.draining.signal]);
  for (let failures = 0; !over.aborted; ) {
    const startedAt = performance.now();
    try {
      await subscribeOnce(state, connection);
      if (!over.aborted) log.error({ queue: queue.name }, 'subscription lost');
    } catch (error) {
      const fields = { queue: queue.name, ...errorFields(error) };
      if (failures === 0 && !over.aborted) log.error(fields, 'cannot subscribe');
    }
    failures = performance.now() - startedAt > STABLE_MS ? 0 : failures + 1;
    await sleep(fullJitterMs(failures, BACKOFF), over);
  }
}

/** From subscribing to the end of the subscription, and of its channel unless a drain still needs it. */
async function subscribeOnce<Data>(state: ConsumerState<Data>, connection: ChannelModel): Promise<void> {
  const { running, draining, deps } = state;
  const { context, concurrency, changed } = deps;
  const take = (delivery: ConsumeMessage, lease: Lease) => {
    const work = processDelivery(context, delivery, lease);
    running.add(work);
    void work.finally(() => running.delete(work));
  };
  const open = openSession(connection, deps, take);
  state.opening = open;
  const session = await open;
  state.session = session;
  changed();
  context.log.info({ queue: context.queue.name, concurrency }, 'subscribed');
  if (draining.signal.aborted) await stopTaking(session, context);
  await aborted(session.ended.signal);
  changed();
  if (draining.signal.aborted || session.lost.aborted) return;
  await within(context.handlerTimeoutMs, Promise.allSettled(running), context.log); // cancelled by the broker
  await within(RPC_TIMEOUT_MS, close(session.channel), context.log);
}

async function drain<Data>(state: ConsumerState<Data>, graceMs: number): Promise<void> {
  const { running, draining, deps } = state;
  const { log, queue } = deps.context;
  draining.abort();
  await within(RPC_TIMEOUT_MS, state.opening, log);
  if (state.session !== undefined) await stopTaking(state.session, deps.context);
  await within(graceMs, Promise.allSettled(running), log);
  if (running.size === 0) return;
  log.warn({ queue: queue.name, unfinished: running.size }, 'drain: grace is over, unfinished messages go back');
  state.session?.revoked.abort();
  await within(ABORT_REACTION_MS, Promise.allSettled(running), log);
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

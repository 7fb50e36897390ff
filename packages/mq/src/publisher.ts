import { randomUUID } from 'node:crypto';
import { EXCHANGES, type Queue } from '@dueline/contracts';
import { fullJitterMs, sleep } from '@dueline/kernel';
import type { ChannelModel, ConfirmChannel, ConsumeMessage, Options } from 'amqplib';
import { encode, MAX_BODY_BYTES } from './codec.ts';
import type { Link } from './link.ts';
import { createSendWindow, type Sending, type SendWindow } from './send-window.ts';
import { RETRY_EXCHANGE } from './topology.ts';
import { markFailed, startPublishSpan } from './tracing.ts';
import type { Emit, Log, OutgoingMessage, PublishFailure, PublishResult } from './types.ts';
import { aborted, BACKOFF, errorFields, STABLE_MS, within } from './waiting.ts';

const CLOSE_TIMEOUT_MS = 2_000;

export interface PublisherOptions {
  readonly link: Link;
  readonly appId: string;
  readonly timeoutMs: number;
  readonly log: Log;
  readonly emit: Emit;
  readonly changed: () => void;
}

export interface Publisher {
  publish<Data>(queue: Queue<Data>, messages: readonly OutgoingMessage<Data>[]): Promise<PublishResult[]>;
  /** Puts a delivery, byte for byte, into the retry tier that brings it back to `queue`. */
  defer(queue: Queue<unknown>, delivery: ConsumeMessage): Promise<PublishResult>;
  isReady(): boolean;
  /** Publishes that have not settled yet. */
  inFlight(): number;
  /** From now on everything answers `not_connected`; waits for the confirms that are under way. */
  flush(ms: number): Promise<void>;
  closeChannel(): Promise<void>;
}

interface Body {
  readonly exchange: string;
  readonly routingKey: string;
  readonly id: string;
  readonly content: Buffer;
  readonly properties: Options.Publish;
}

interface PublisherState {
  readonly options: PublisherOptions;
  readonly active: Set<Promise<unknown>>;
  window: SendWindow | undefined;
  closing: boolean;
}

export function createPublisher(options: PublisherOptions): Publisher {
  const state: PublisherState = { options, active: new Set(), window: undefined, closing: false };
  const { link, log } = options;
  link.onConnection((connection, gone) => {
    connection.on('blocked', () => state.window?.refuseWaiting('blocked'));
    void keepChannel(connection, gone, state);
  });
  return {
    publish: (queue, messages) => publishTraced(state, queue, messages),
    defer: async (queue, delivery) => {
      const [result] = await sendAll(state, [deferredBody(queue, delivery, options.appId)]);
      return result ?? { ok: false, reason: 'not_connected' };
    },
    isReady: () => state.window !== undefined && !state.closing,
    inFlight: () => state.active.size,
    flush: async (ms) => {
      state.closing = true;
      await within(ms, Promise.allSettled(state.active), log);
    },
    closeChannel: async () => {
      if (state.window !== undefined) await within(CLOSE_TIMEOUT_MS, state.window.close(), log);
    },
  };
}

async function sendAll(state: PublisherState, bodies: readonly Body[]): Promise<PublishResult[]> {
  const sendings = bodies.map((body) => startSending(state, body));
  const giveUp = () => {
    for (const sending of sendings) sending.giveUp();
  };
  const timer = setTimeout(giveUp, state.options.timeoutMs);
  const settled = Promise.all(sendings.map(({ result }) => result));
  state.active.add(settled);
  try {
    return await settled;
  } finally {
    clearTimeout(timer);
    state.active.delete(settled);
  }
}

function startSending({ window, closing, options }: PublisherState, body: Body): Sending {
  if (body.content.length > MAX_BODY_BYTES) return refused('too_large');
  if (window === undefined || closing) return refused('not_connected');
  if (options.link.isBlocked()) return refused('blocked');
  return window.send(body);
}

/** The delivery byte for byte, without what the broker noted on it. */
function deferredBody(queue: Queue<unknown>, { content, properties }: ConsumeMessage, appId: string): Body {
  const id = typeof properties.messageId === 'string' ? properties.messageId : randomUUID();
  const traceparent: unknown = properties.headers?.traceparent;
  const copied = {
    ...commonProperties(queue, id, appId),
    type: properties.type ?? queue.name,
    headers: typeof traceparent === 'string' ? { traceparent } : {},
  };
  return { exchange: RETRY_EXCHANGE, routingKey: queue.name, id, content, properties: copied };
}

const refused = (reason: PublishFailure): Sending => ({
  result: Promise.resolve({ ok: false, reason }),
  giveUp: () => {},
});

const commonProperties = (queue: Queue<unknown>, id: string, appId: string): Options.Publish => ({
  messageId: id,
  type: `${queue.name}.v${queue.version}`,
  contentType: 'application/json',
  appId,
  timestamp: Math.floor(Date.now() / 1_000),
  persistent: true,
  mandatory: true,
});

async function publishTraced<Data>(
  state: PublisherState,
  queue: Queue<Data>,
  messages: readonly OutgoingMessage<Data>[],
): Promise<PublishResult[]> {
  const { appId, emit } = state.options;
  const startedAt = performance.now();
  const traced = messages.map((message) => {
    const { id, content } = encode(queue, message, appId);
    const { span, headers } = startPublishSpan(queue.name, message.traceparent);
    const properties = { ...commonProperties(queue, id, appId), headers };
    return { span, body: { exchange: queue.exchange, routingKey: queue.name, id, content, properties } };
  });
  const results = await sendAll(
    state,
    traced.map(({ body }) => body),
  );
  const ms = performance.now() - startedAt;
  for (const [at, result] of results.entries()) {
    const span = traced[at]?.span;
    if (span !== undefined && !result.ok) markFailed(span, result.reason);
    span?.end();
    emit({ type: 'published', queue: queue.name, result: result.ok ? 'ok' : result.reason, ms });
  }
  return results;
}

/** Keeps one confirm channel open for as long as the connection lives. */
async function keepChannel(connection: ChannelModel, gone: AbortSignal, state: PublisherState): Promise<void> {
  const { log, changed } = state.options;
  const setWindow = (window: SendWindow | undefined) => {
    state.window = window;
    changed();
  };
  for (let failures = 0; !gone.aborted; ) {
    const startedAt = performance.now();
    try {
      const { channel, lost } = await openChannel(connection, log);
      setWindow(createSendWindow(channel, lost));
      await aborted(lost);
      if (!gone.aborted) log.warn({}, 'publish channel lost');
    } catch (error) {
      if (failures === 0 && !gone.aborted) log.error(errorFields(error), 'no channel to publish on');
    }
    setWindow(undefined);
    failures = performance.now() - startedAt > STABLE_MS ? 0 : failures + 1;
    await sleep(fullJitterMs(failures, BACKOFF), gone);
  }
}

async function openChannel(
  connection: ChannelModel,
  log: Log,
): Promise<{ channel: ConfirmChannel; lost: AbortSignal }> {
  const channel = await connection.createConfirmChannel();
  const lost = new AbortController();
  // Before amqplib's own listener, which fails the open confirms: they must see that the channel is what went away.
  channel.prependListener('close', () => lost.abort());
  channel.on('error', (error) => log.error(errorFields(error), 'publish channel failed'));
  channel.on('handler-error', (error) => log.error(errorFields(error), 'publish listener threw'));
  // A publish to an exchange that does not exist closes the channel under everybody's feet.
  for (const exchange of [EXCHANGES.commands, EXCHANGES.events, RETRY_EXCHANGE]) await channel.checkExchange(exchange);
  return { channel, lost: lost.signal };
}

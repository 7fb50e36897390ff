import type { Queue, Tenant } from '@dueline/contracts';

/** The part of a pino logger that mq uses: fields first, then a message without values. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What an app hands over for publishing; mq adds the envelope (id, type, version, instant, source). */
export interface OutgoingMessage<Data> {
  readonly tenant: Tenant;
  readonly data: Data;
  /** W3C trace context of the work that caused the message; the active context when not given. */
  readonly traceparent?: string;
}

/**
 * Why a message was not confirmed. `unroutable`, `nacked`, `blocked`, `too_large` and `not_connected` mean that the
 * broker does not hold it; after `timeout` and `channel_closed` nobody knows, so the receiver must tolerate a repeat.
 */
export type PublishFailure =
  | 'unroutable'
  | 'nacked'
  | 'timeout'
  | 'not_connected'
  | 'blocked'
  | 'too_large'
  | 'channel_closed';

/** `ok`: the broker has the message on disk, in a queue. */
export type PublishResult = { readonly ok: true } | { readonly ok: false; readonly reason: PublishFailure };

/** A decoded message. */
export interface IncomingMessage<Data> {
  /** Stable across redeliveries. */
  readonly id: string;
  readonly tenant: Tenant;
  readonly data: Data;
  /** Earlier deliveries that ended without a settlement; 0 at first. More than that is evidence of a crash or a lost channel. */
  readonly deliveryCount: number;
  /** RFC 3339, UTC, by the publisher's clock. */
  readonly publishedAt: string;
}

/** What became of a message; both are acknowledged. `discarded`: stale, repeated or someone else's, no alarm. */
export interface Outcome {
  readonly outcome: 'done' | 'discarded';
  /** Goes to the log line; never bodies or user text. */
  readonly detail?: Readonly<Record<string, string | number>>;
}

/** The handler did its work. */
export const DONE: Outcome = { outcome: 'done' };

/** There was nothing to do, for a reason that is nobody's fault. */
export const discarded = (reason: string): Outcome => ({ outcome: 'discarded', detail: { reason } });

/**
 * Handles one message. The signal aborts when the time limit is over, when a drain's grace is over, and when the
 * channel that delivered the message is lost (it then comes again, perhaps elsewhere).
 *
 * Throw `TransientError` to be called again in place until it works, `PermanentError` or `PoisonError` to dead-letter
 * the message; any other error is tried five times in all and then dead-lettered.
 */
export type Handler<Data> = (message: IncomingMessage<Data>, context: { signal: AbortSignal }) => Promise<Outcome>;

/** How a delivery ended. `deferred`: a later version, put back for ten minutes. `abandoned`: left to be redelivered. */
export type ConsumeResult = 'done' | 'discarded' | 'dead_lettered' | 'deferred' | 'abandoned';

/** What metrics are made of. */
export type BrokerEvent =
  | {
      readonly type: 'published';
      readonly queue: string;
      readonly result: 'ok' | PublishFailure;
      /** Until the broker's answer, or until it was given up. */
      readonly ms: number;
    }
  | {
      readonly type: 'consumed';
      readonly queue: string;
      readonly result: ConsumeResult;
      /** From delivery to settlement. */
      readonly ms: number;
      /** From the publisher's clock to delivery by ours; undefined for what cannot be read. */
      readonly waitedMs: number | undefined;
    }
  | { readonly type: 'consuming'; readonly queue: string }
  | { readonly type: 'handler_failed'; readonly queue: string; readonly kind: 'transient' | 'unknown' }
  | { readonly type: 'connected' | 'disconnected'; readonly role: 'publish' | 'consume' }
  | { readonly type: 'blocked'; readonly blocked: boolean };

export interface ConsumeOptions {
  /** Messages handled at the same time; also the prefetch, so that nothing waits inside the process. */
  readonly concurrency: number;
  /** Milliseconds of one try before its signal aborts; 60,000 when not given. */
  readonly handlerTimeoutMs?: number;
}

/** A subscription that outlives channels and connections. */
export interface Consumer {
  /**
   * Takes no further message and waits for the running handlers; after `graceMs` (20,000 when not given) it aborts
   * their signal and leaves what is unfinished unacknowledged. Pauses between tries end at once. Does not throw.
   */
  drain(graceMs?: number): Promise<void>;
}

export type BrokerState = 'connecting' | 'ready' | 'blocked' | 'closed';

export interface Broker {
  /**
   * Publishes persistent messages to one queue and waits for the broker's confirmation of each.
   * One result per message, in order; settles within `publishTimeoutMs`; never throws for the broker's state and never
   * buffers while the broker is away.
   */
  publish<Data>(queue: Queue<Data>, messages: readonly OutgoingMessage<Data>[]): Promise<PublishResult[]>;
  /** Subscribes now and again after every loss. A message is acknowledged only after its handler has ended. */
  consume<Data>(queue: Queue<Data>, handler: Handler<Data>, options: ConsumeOptions): Consumer;
  /** `ready`: both connections are up, the topology is complete and every consumer is subscribed. */
  state(): BrokerState;
  /** What keeps the broker from being ready, as text for readyz; empty when ready. */
  problems(): readonly string[];
  /** Resolves at the first `ready`; rejects when the broker is closed before. */
  ready(): Promise<void>;
  /**
   * Messages of a queue that wait to be delivered; those in a consumer's hands are not counted. Undefined while the broker does not
   * say.
   */
  waiting(queue: Queue<unknown>): Promise<number | undefined>;
  /** Publishes that wait for the broker's confirmation, and each consumer of this process that is not drained. */
  inHand(): {
    readonly unconfirmed: number;
    readonly consumers: readonly {
      readonly queue: string;
      readonly isSubscribed: boolean;
      readonly messages: number;
    }[];
  };
  /** How often a connection for publishing was lost so far: tickets published before may be gone with the broker. */
  publishingLost(): number;
  /** For tests: resolves when nothing is in hand or unconfirmed here and every queue consumed here is empty. */
  settled(): Promise<void>;
  /** Drains the consumers, waits for confirms (5 s at most), closes channels, then connections. Does not throw. */
  close(): Promise<void>;
}

export type Emit = (event: BrokerEvent) => void;

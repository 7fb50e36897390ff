import { fullJitterMs, sleep } from '@dueline/kernel';
import { type ChannelModel, connect } from 'amqplib';
import type { Emit, Log } from './types.ts';
import { aborted, BACKOFF, errorFields, STABLE_MS, within } from './waiting.ts';

const CLOSE_TIMEOUT_MS = 2_000;

export interface LinkOptions {
  readonly role: 'publish' | 'consume';
  readonly url: string;
  readonly appId: string;
  readonly heartbeatSeconds: number;
  readonly connectTimeoutMs: number;
  readonly log: Log;
  readonly emit: Emit;
  /** Called after every change of isUp and isBlocked. */
  readonly changed: () => void;
}

/** Called for each connection; `gone` aborts when it is lost. */
type ConnectionListener = (connection: ChannelModel, gone: AbortSignal) => void;

/** One connection to the broker that is dialled again, for ever, until it is closed. */
export interface Link {
  /** Registers a listener; called at once when a connection is up. */
  onConnection(listener: ConnectionListener): void;
  isUp(): boolean;
  isBlocked(): boolean;
  close(): Promise<void>;
}

interface Current {
  readonly connection: ChannelModel;
  readonly gone: AbortSignal;
}

export function createLink(options: LinkOptions): Link {
  const { role, log, emit, changed } = options;
  const listeners: ConnectionListener[] = [];
  const stop = new AbortController();
  let current: Current | undefined;
  let blocked = false;
  let reported = false;

  const setBlocked = (value: boolean) => {
    if (blocked === value) return;
    blocked = value;
    emit({ type: 'blocked', blocked });
    log.warn({ role, blocked }, blocked ? 'broker blocks publishers' : 'broker takes messages again');
    changed();
  };

  const hold = async (connection: ChannelModel) => {
    const gone = new AbortController();
    connection.on('blocked', () => setBlocked(true));
    connection.on('unblocked', () => setBlocked(false));
    connection.on('error', (error) => log.warn({ role, ...errorFields(error) }, 'broker connection failed'));
    connection.on('handler-error', (error) => log.error({ role, ...errorFields(error) }, 'connection listener threw'));
    connection.on('close', () => gone.abort());
    await (await connection.createChannel()).close(); // a close right behind the handshake came before the listeners
    current = { connection, gone: gone.signal };
    reported = false;
    log.info({ role }, 'broker connected');
    emit({ type: 'connected', role });
    changed();
    for (const listener of listeners) listener(connection, gone.signal);
    await aborted(gone.signal);
    current = undefined;
    setBlocked(false);
    emit({ type: 'disconnected', role });
    if (!stop.signal.aborted) log.warn({ role }, 'broker connection lost');
    changed();
  };

  const attempt = async () => {
    const socket = new AbortController();
    const destroy = () => socket.abort();
    stop.signal.addEventListener('abort', destroy, { once: true });
    try {
      await hold(await dial(options, socket.signal));
    } catch (error) {
      if (!reported && !stop.signal.aborted) log.warn({ role, ...errorFields(error) }, 'broker cannot be reached');
      reported = true;
    } finally {
      stop.signal.removeEventListener('abort', destroy);
      destroy(); // a lost peer never answers a half-close; without this its socket would linger
    }
  };

  const keepConnected = async () => {
    for (let failures = 0; !stop.signal.aborted; ) {
      const startedAt = performance.now();
      await attempt();
      failures = performance.now() - startedAt > STABLE_MS + options.connectTimeoutMs ? 0 : failures + 1;
      await sleep(fullJitterMs(Math.max(0, failures - 1), BACKOFF), stop.signal);
    }
  };
  const running = keepConnected();

  return {
    onConnection: (listener) => {
      listeners.push(listener);
      if (current !== undefined) listener(current.connection, current.gone);
    },
    isUp: () => current !== undefined,
    isBlocked: () => blocked,
    close: async () => {
      if (current !== undefined) await within(CLOSE_TIMEOUT_MS, current.connection.close(), log);
      stop.abort();
      await running;
    },
  };
}

function dial({ url, appId, role, heartbeatSeconds, connectTimeoutMs }: LinkOptions, signal: AbortSignal) {
  const target = new URL(url);
  target.searchParams.set('heartbeat', String(heartbeatSeconds));
  const socketOptions = {
    noDelay: true,
    timeout: connectTimeoutMs,
    clientProperties: { connection_name: `${appId}:${role}` },
    signal, // handed on to net.connect and tls.connect: the only way to end a socket whose peer is silent
  };
  return connect(target.href, socketOptions);
}

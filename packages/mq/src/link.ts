import { fullJitterMs, sleep } from '@dueline/kernel';
import { type ChannelModel, connect } from 'amqplib';
import type { Emit, Log } from './types.ts';
import { aborted, BACKOFF, close, errorFields, STABLE_MS, within } from './waiting.ts';

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
  /** Connections that were lost, not closed. */
  timesLost(): number;
  close(): Promise<void>;
}

interface Current {
  readonly connection: ChannelModel;
  readonly gone: AbortSignal;
}

interface LinkState {
  readonly options: LinkOptions;
  readonly listeners: ConnectionListener[];
  readonly stop: AbortController;
  current: Current | undefined;
  blocked: boolean;
  timesLost: number;
  /** Whether the log knows that the broker cannot be reached; it is told once per outage. */
  reported: boolean;
}

export function createLink(options: LinkOptions): Link {
  const stop = new AbortController();
  const state: LinkState = {
    options,
    listeners: [],
    stop,
    current: undefined,
    blocked: false,
    timesLost: 0,
    reported: false,
  };
  const running = keepConnected(state);
  return {
    onConnection: (listener) => {
      state.listeners.push(listener);
      if (state.current !== undefined) listener(state.current.connection, state.current.gone);
    },
    isUp: () => state.current !== undefined,
    isBlocked: () => state.blocked,
    timesLost: () => state.timesLost,
    close: async () => {
      if (state.current !== undefined) await within(CLOSE_TIMEOUT_MS, close(state.current.connection), options.log);
      stop.abort();
      await running;
    },
  };
}

async function keepConnected(state: LinkState): Promise<void> {
  const { stop, options } = state;
  for (let failures = 0; !stop.signal.aborted; ) {
    const startedAt = performance.now();
    await connectOnce(state);
    const wasStable = performance.now() - startedAt > STABLE_MS + options.connectTimeoutMs;
    await sleep(fullJitterMs(wasStable ? 0 : failures, BACKOFF), stop.signal);
    failures = wasStable ? 0 : failures + 1;
  }
}

/** From dialling to the loss of the connection. */
async function connectOnce(state: LinkState): Promise<void> {
  const { stop, options } = state;
  const socket = new AbortController();
  const destroy = () => socket.abort();
  stop.signal.addEventListener('abort', destroy, { once: true });
  try {
    await hold(state, await dial(options, socket.signal));
  } catch (error) {
    const fields = { role: options.role, ...errorFields(error) };
    if (!state.reported && !stop.signal.aborted) options.log.warn(fields, 'broker cannot be reached');
    state.reported = true;
  } finally {
    stop.signal.removeEventListener('abort', destroy);
    destroy(); // a lost peer never answers a half-close; without this its socket would linger
  }
}

async function hold(state: LinkState, connection: ChannelModel): Promise<void> {
  const { role, log, emit, changed } = state.options;
  const gone = new AbortController();
  connection.on('blocked', () => setBlocked(state, true));
  connection.on('unblocked', () => setBlocked(state, false));
  connection.on('error', (error) => log.warn({ role, ...errorFields(error) }, 'broker connection failed'));
  connection.on('handler-error', (error) => log.error({ role, ...errorFields(error) }, 'connection listener threw'));
  connection.on('close', () => gone.abort());
  await close(await connection.createChannel()); // a close right behind the handshake came before the listeners
  if (gone.signal.aborted) throw new Error('the connection was lost right behind its handshake');
  state.current = { connection, gone: gone.signal };
  state.reported = false;
  log.info({ role }, 'broker connected');
  emit({ type: 'connected', role });
  changed();
  for (const listener of state.listeners) listener(connection, gone.signal);
  await aborted(gone.signal);
  state.current = undefined;
  setBlocked(state, false);
  state.timesLost += 1;
  emit({ type: 'disconnected', role });
  if (!state.stop.signal.aborted) log.warn({ role }, 'broker connection lost');
  changed();
}

function setBlocked(state: LinkState, blocked: boolean): void {
  if (state.blocked === blocked) return;
  state.blocked = blocked;
  const { role, log, emit, changed } = state.options;
  emit({ type: 'blocked', blocked });
  log.warn({ role, blocked }, blocked ? 'broker blocks publishers' : 'broker takes messages again');
  changed();
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

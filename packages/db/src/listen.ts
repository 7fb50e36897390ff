import { Socket } from 'node:net';
import { fullJitterMs, sleep } from '@dueline/kernel';
import pg from 'pg';
import { translateError } from './errors.ts';

const PROBE_EVERY_MS = 5_000;
const PROBE_TIMEOUT_MS = 2_000;
/** How long closing waits for the server's answer. */
const GOODBYE_MS = 300;
const BACK_OFF = { baseMs: 200, capMs: 10_000 };

export interface Listener {
  /** Whether the connection stands and listens. */
  connected(): boolean;
  /** Ends the connection; no callback runs afterwards. */
  close(): Promise<void>;
}

export interface ListenOptions {
  /** A direct connection: a pooler in transaction mode swallows every notification. */
  url: string;
  channels: readonly string[];
  /**
   * Something may be there: a notification came, or the connection has just been made (what was sent before is not
   * replayed, so look at everything).
   */
  onWake: (source: 'notify' | 'connected', channel: string) => void;
  /** The connection was lost or could not be made; called once per outage. */
  onLost: (error: unknown) => void;
}

/** One connection's life: resolves when it is over, because it was lost or `closing` aborts. Never rejects. */
async function listenUntilLost(
  options: ListenOptions,
  { closing, setConnected }: { closing: AbortSignal; setConnected: (connected: boolean) => void },
): Promise<unknown> {
  const socket = new Socket(); // our own, because only destroying it ends a connection whose server is silent
  const client = new pg.Client({
    connectionString: options.url,
    application_name: `listen ${options.channels.join(' ')}`,
    connectionTimeoutMillis: 5_000,
    query_timeout: PROBE_TIMEOUT_MS,
    keepAlive: true,
    stream: () => socket,
  });
  const over = Promise.withResolvers<unknown>();
  const close = () => over.resolve(new Error('listener closed'));
  closing.addEventListener('abort', close);
  client.on('error', over.resolve);
  client.on('end', () => over.resolve(new Error('connection ended')));
  client.on('notification', ({ channel }) => options.onWake('notify', channel));
  let probe: NodeJS.Timeout | undefined;
  try {
    const listening = client
      .connect()
      .then(() => client.query(options.channels.map((channel) => `listen ${pg.escapeIdentifier(channel)}`).join('; ')));
    listening.catch(over.resolve);
    if ((await Promise.race([listening.then(() => true), over.promise.then(() => false)])) === false)
      return await over.promise;
    setConnected(true);
    for (const channel of options.channels) options.onWake('connected', channel);
    // A frozen server sends no event at all: only an unanswered question tells.
    probe = setInterval(() => {
      client.query('select 1').catch(over.resolve);
    }, PROBE_EVERY_MS);
    return await over.promise;
  } catch (error) {
    return error;
  } finally {
    clearInterval(probe);
    closing.removeEventListener('abort', close);
    setConnected(false);
    await hangUp(client, socket);
  }
}

/** Says goodbye, but waits for the answer of a live server only. */
async function hangUp(client: pg.Client, socket: Socket): Promise<void> {
  const answered = new AbortController();
  const goodbye = client.end().catch(() => undefined);
  await Promise.race([goodbye, sleep(GOODBYE_MS, answered.signal)]);
  answered.abort();
  socket.destroy();
}

/**
 * LISTENs on channels, by one connection, for as long as it is open, reconnecting with full jitter (200 ms to 10 s). A notification is a hint
 * only: none is promised to arrive, so the caller polls as well.
 */
export function listen(options: ListenOptions): Listener {
  let isConnected = false;
  const closing = new AbortController();
  const loop = (async () => {
    for (let failures = 0; !closing.signal.aborted; ) {
      let heard = false;
      const onWake: ListenOptions['onWake'] = (source, channel) => {
        heard = true;
        if (!closing.signal.aborted) options.onWake(source, channel);
      };
      const setConnected = (connected: boolean) => {
        isConnected = connected;
      };
      const error = await listenUntilLost({ ...options, onWake }, { closing: closing.signal, setConnected });
      if (closing.signal.aborted) return;
      if (heard || failures === 0) options.onLost(translateError(error));
      failures = heard ? 1 : failures + 1;
      await sleep(fullJitterMs(failures - 1, BACK_OFF), closing.signal);
    }
  })();
  return {
    connected: () => isConnected,
    close: async () => {
      closing.abort();
      await loop;
    },
  };
}

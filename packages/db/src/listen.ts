import { fullJitterMs, sleep } from '@dueline/kernel';
import pg from 'pg';
import { translateError } from './errors.ts';

const PROBE_EVERY_MS = 5_000;
const PROBE_TIMEOUT_MS = 2_000;
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
  channel: string;
  /**
   * Something may be there: a notification came, or the connection has just been made (what was sent before is not
   * replayed, so look at everything).
   */
  onWake: (source: 'notify' | 'connected') => void;
  /** The connection was lost or could not be made; called once per outage. */
  onLost: (error: unknown) => void;
}

/** Resolves when the connection is over. Never rejects. */
async function listenUntilLost(options: ListenOptions, state: { client: pg.Client | undefined }): Promise<unknown> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: `listen ${options.channel}`,
    connectionTimeoutMillis: 5_000,
    query_timeout: PROBE_TIMEOUT_MS,
    keepAlive: true,
  });
  const lost = new Promise<unknown>((resolve) => {
    client.on('error', resolve);
    client.on('end', () => resolve(new Error('connection ended')));
  });
  client.on('notification', () => options.onWake('notify'));
  let probe: NodeJS.Timeout | undefined;
  try {
    await client.connect();
    await client.query(`listen ${pg.escapeIdentifier(options.channel)}`);
    state.client = client;
    options.onWake('connected');
    // A frozen server sends no event at all: only an unanswered question tells.
    const failed = new Promise<unknown>((resolve) => {
      probe = setInterval(() => {
        client.query('select 1').catch(resolve);
      }, PROBE_EVERY_MS);
    });
    return await Promise.race([lost, failed]);
  } catch (error) {
    return error;
  } finally {
    clearInterval(probe);
    state.client = undefined;
    void client.end().catch(() => undefined); // a frozen server never answers the goodbye
  }
}

/**
 * LISTENs on a channel for as long as it is open, reconnecting with full jitter (200 ms to 10 s). A notification is a hint
 * only: none is promised to arrive, so the caller polls as well.
 */
export function listen(options: ListenOptions): Listener {
  const state: { client: pg.Client | undefined } = { client: undefined };
  const closing = new AbortController();
  const guarded: ListenOptions = { ...options, onWake: (source) => closing.signal.aborted || options.onWake(source) };
  const loop = (async () => {
    for (let failures = 0; !closing.signal.aborted; ) {
      let heard = false;
      const error = await listenUntilLost(
        {
          ...guarded,
          onWake: (source) => {
            heard = true;
            guarded.onWake(source);
          },
        },
        state,
      );
      if (closing.signal.aborted) return;
      if (heard || failures === 0) options.onLost(translateError(error));
      failures = heard ? 1 : failures + 1;
      await sleep(fullJitterMs(failures - 1, BACK_OFF), closing.signal);
    }
  })();
  return {
    connected: () => state.client !== undefined,
    close: async () => {
      closing.abort();
      await state.client?.end().catch(() => undefined);
      await loop;
    },
  };
}

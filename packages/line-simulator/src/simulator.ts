import { createApiServer } from './api-server.ts';
import { createChannels } from './channels.ts';
import { type Clock, systemClock } from './clock.ts';
import { type ChannelConfig, channelConfig } from './config.ts';
import { createControlServer } from './control-server.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { createLedgerStore } from './ledger-store.ts';
import { createMetrics } from './metrics.ts';

export interface SimulatorOptions {
  /** Channels from the start; more can come through the control API. */
  channels: readonly ChannelConfig[];
  /** The machine's clock unless given. */
  clock?: Clock;
  /** 0, the default, takes a free port. */
  apiPort?: number;
  controlPort?: number;
}

/** A running simulator. */
export interface Simulator {
  /** Base URL that plays api.line.me, without a slash at its end. */
  readonly apiUrl: string;
  /** Base URL of the control API; its paths begin with `/__sim`. */
  readonly controlUrl: string;
  readonly ledger: Ledger;
  /** Ends both listeners and every connection. */
  close(): Promise<void>;
}

/**
 * Starts the simulated LINE on two loopback ports.
 *
 * @throws ZodError or PermanentError if the channels are not well formed or share users or tokens.
 */
export async function createSimulator({
  channels: configs,
  clock = systemClock,
  apiPort = 0,
  controlPort = 0,
}: SimulatorOptions): Promise<Simulator> {
  const channels = createChannels();
  channels.put(configs.map((config) => channelConfig.parse(config)));
  let store = createLedgerStore(channels);
  const ledger = createLedger(() => store);
  const metrics = createMetrics(clock);
  const api = createApiServer({ world: { clock, channels, store: () => store }, metrics });
  const control = createControlServer({
    channels,
    ledger,
    metrics,
    reset(settings) {
      channels.reset(settings);
      store = createLedgerStore(channels);
      metrics.reset();
    },
  });
  const close = async () => {
    await Promise.all([api.close(), control.close()]);
  };
  try {
    const [apiUrl, controlUrl] = await Promise.all([
      api.listen({ host: '127.0.0.1', port: apiPort }),
      control.listen({ host: '127.0.0.1', port: controlPort }),
    ]);
    return { apiUrl, controlUrl, ledger, close };
  } catch (error) {
    await close();
    throw error;
  }
}

import { createApiServer } from './api-server.ts';
import { createChannels } from './channels.ts';
import { type Clock, movableClock, systemClock } from './clock.ts';
import { type ChannelConfig, type ChannelSettings, channelConfig } from './config.ts';
import { createControlServer } from './control-server.ts';
import { OTHER_ENDPOINTS } from './endpoints-other.ts';
import { SEND_ENDPOINTS } from './endpoints-send.ts';
import type { Stage } from './exchange.ts';
import { createFaultEngine, type Faults } from './faults/engine.ts';
import { createScenario, type Scenario } from './faults/scenario.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { createLedgerStore } from './ledger-store.ts';
import { createMetrics } from './metrics.ts';

const ENDPOINT_NAMES: ReadonlySet<string> = new Set(
  [...SEND_ENDPOINTS, ...OTHER_ENDPOINTS].map((endpoint) => endpoint.key),
);

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
  readonly faults: Faults;
  readonly scenario: Scenario;
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
  clock: source = systemClock,
  apiPort = 0,
  controlPort = 0,
}: SimulatorOptions): Promise<Simulator> {
  const clock = movableClock(source);
  let stage = createStage(configs.map((config) => channelConfig.parse(config)));
  const ledger = createLedger(() => stage.store);
  const metrics = createMetrics(source);
  const world = { clock, stage: () => stage };
  const faults = createFaultEngine({ clock, isEndpoint: (name) => ENDPOINT_NAMES.has(name) });
  const { api, listener } = createApiServer({ world, metrics, faults });
  const scenario = createScenario({ world, listener });
  const control = createControlServer({
    channels: () => stage.channels,
    ledger,
    metrics,
    clock,
    faults,
    scenario,
    reset(settings = stage.channels.list().map((channel) => channel.settings)) {
      stage = createStage(settings);
      metrics.reset();
      faults.clear();
      listener.set('up');
    },
  });
  const close = async () => {
    await listener.close();
    await Promise.all([api.close(), control.close()]);
  };
  try {
    const [apiUrl, controlUrl] = await Promise.all([
      api.listen({ host: '127.0.0.1', port: apiPort }),
      control.listen({ host: '127.0.0.1', port: controlPort }),
    ]);
    return { apiUrl, controlUrl, ledger, faults, scenario, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function createStage(settings: readonly ChannelSettings[]): Stage {
  const channels = createChannels();
  channels.put(settings);
  return { channels, store: createLedgerStore(channels) };
}

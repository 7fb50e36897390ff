import { createAgenda } from './agenda.ts';
import { createApiServer } from './api/api-server.ts';
import { ENDPOINTS } from './api/endpoints/list.ts';
import type { Stage } from './api/exchange.ts';
import { createChannels } from './channel/channels.ts';
import { type Clock, movableClock, systemClock } from './clock.ts';
import { type ChannelConfig, type ChannelSettings, channelConfig } from './config.ts';
import { createControlServer } from './control/control-server.ts';
import { createFaultEngine, type Faults } from './faults/engine.ts';
import { createScenario, type Scenario } from './faults/scenario.ts';
import { createLedger, type Ledger } from './ledger/ledger.ts';
import { createLedgerStore } from './ledger/ledger-store.ts';
import { createMetrics } from './metrics.ts';
import { createWebhooks } from './webhooks/webhooks.ts';

const ENDPOINT_NAMES: ReadonlySet<string> = new Set(ENDPOINTS.map((endpoint) => endpoint.key));

export interface SimulatorOptions {
  /** Channels from the start; more can come through the control API. */
  channels: readonly ChannelConfig[];
  /** The machine's clock unless given. */
  clock?: Clock;
  /** Address to listen on; 127.0.0.1 unless given, and in a container, whose ports are closed to others, 0.0.0.0. */
  host?: string;
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
 * Starts the simulated LINE on two ports, of the loopback address unless `host` says otherwise.
 *
 * @throws ZodError or PermanentError if the channels are not well formed or share users or tokens.
 */
export async function createSimulator({
  channels: configs,
  clock: source = systemClock,
  host = '127.0.0.1',
  apiPort = 0,
  controlPort = 0,
}: SimulatorOptions): Promise<Simulator> {
  const clock = movableClock(source);
  let stage = createStage(
    configs.map((config) => channelConfig.parse(config)),
    clock,
  );
  const ledger = createLedger(() => {
    stage.agenda.runDue(clock.now());
    return stage.store;
  });
  const metrics = createMetrics(source);
  const world = { clock, stage: () => stage };
  const faults = createFaultEngine({ clock, isEndpoint: (name) => ENDPOINT_NAMES.has(name) });
  const { api, listener } = createApiServer({ world, metrics, faults });
  const scenario = createScenario({ world, listener });
  const control = createControlServer({
    stage: () => stage,
    ledger,
    metrics,
    clock,
    faults,
    scenario,
    reset(settings = stage.channels.list().map((channel) => channel.settings)) {
      const next = createStage(settings, clock);
      closeStage(stage);
      stage = next;
      metrics.reset();
      faults.clear();
      listener.set('up');
    },
  });
  const close = async () => {
    await listener.close();
    closeStage(stage);
    await Promise.all([api.close(), control.close()]);
  };
  try {
    const [apiUrl, controlUrl] = await Promise.all([
      api.listen({ host, port: apiPort }),
      control.listen({ host, port: controlPort }),
    ]);
    return { apiUrl, controlUrl, ledger, faults, scenario, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function createStage(settings: readonly ChannelSettings[], clock: Clock): Stage {
  const channels = createChannels();
  channels.put(settings);
  const agenda = createAgenda(clock);
  return { channels, store: createLedgerStore(channels), agenda, webhooks: createWebhooks(clock, agenda) };
}

function closeStage({ agenda, webhooks }: Stage): void {
  agenda.close();
  webhooks.close();
}

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { messageOf } from './errors.ts';
import { canConnect, freePort } from './ports.ts';
import { waitUntilReady } from './processes.ts';
import type { Run } from './run.ts';
import { type PrivateServer, startServer } from './server.ts';

export interface RabbitUrls {
  amqpUrl: string;
  amqpManagementUrl: string;
}

interface RabbitPlan {
  folder: string;
  acknowledgementTimeoutMs: number | undefined;
  user: string;
  password: string;
  amqpPort: number;
  managementPort: number;
  metricsPort: number;
  distributionPort: number;
  epmdPort: number;
}

/** Starts an empty RabbitMQ node with the plugins for management and metrics, a random user, and a name server of its own. */
export async function startRabbit(
  run: Run,
  {
    name,
    command,
    epmd,
    ...settings
  }: { name: string; command: string; epmd: string; acknowledgementTimeoutMs?: number },
): Promise<{ urls: RabbitUrls; server: PrivateServer }> {
  const plan = await makePlan(run.makeFolder(name), settings);
  await startNameServer(run, { epmd, port: plan.epmdPort, folder: run.makeFolder(`${name}-epmd`) });
  const file = (base: string) => join(plan.folder, base);
  run.writeFile(file('rabbitmq.conf'), configuration(plan));
  run.writeFile(file('advanced.config'), advanced(plan));
  run.writeFile(file('enabled_plugins'), '[rabbitmq_management, rabbitmq_prometheus].\n');
  // A bare chroot may have no /etc/hosts: the node still has to find localhost.
  run.writeFile(file('inetrc'), '{host, {127,0,0,1}, ["localhost"]}.\n{lookup, [file, native]}.\n');
  const options = { name: 'RabbitMQ', command, args: [], folder: plan.folder, env: environment(plan) };
  const server = await startServer(run, options, () => problemOf(plan));
  const credentials = `${plan.user}:${plan.password}`;
  const urls = {
    amqpUrl: `amqp://${credentials}@127.0.0.1:${plan.amqpPort}`,
    amqpManagementUrl: `http://${credentials}@127.0.0.1:${plan.managementPort}/api`,
  };
  return { urls, server };
}

async function makePlan(
  folder: string,
  { acknowledgementTimeoutMs }: { acknowledgementTimeoutMs?: number },
): Promise<RabbitPlan> {
  return {
    folder,
    acknowledgementTimeoutMs,
    user: 'dueline',
    password: randomBytes(12).toString('hex'),
    amqpPort: await freePort(),
    managementPort: await freePort(),
    metricsPort: await freePort(),
    // Chosen, because the default is the AMQP port + 20000, which is no port when that one is high.
    distributionPort: await freePort(),
    // Erlang's own name server is a daemon on a fixed port that all nodes share and that outlives them.
    epmdPort: await freePort(),
  };
}

async function startNameServer(run: Run, { epmd, port, folder }: { epmd: string; port: number; folder: string }) {
  const args = ['-port', String(port), '-address', '127.0.0.1', '-relaxed_command_check'];
  const server = run.launch({ name: 'epmd', command: epmd, args, folder });
  await waitUntilReady(server, async () =>
    (await canConnect({ host: '127.0.0.1', port, timeoutMs: 5_000 })) ? undefined : 'its port is closed',
  );
}

const configuration = (plan: RabbitPlan): string =>
  [
    `listeners.tcp.1 = 127.0.0.1:${plan.amqpPort}`,
    `management.tcp.port = ${plan.managementPort}`,
    'management.tcp.ip = 127.0.0.1',
    `prometheus.tcp.port = ${plan.metricsPort}`,
    'prometheus.tcp.ip = 127.0.0.1',
    `default_user = ${plan.user}`,
    `default_pass = ${plan.password}`,
    'log.console = true',
    'log.console.level = warning',
    'log.file = false',
    'disk_free_limit.absolute = 50MB',
    'vm_memory_high_watermark.absolute = 1GB',
    'vm_memory_calculation_strategy = allocated', // the default reads /proc and fails where it is not mounted
    '',
  ].join('\n');

/** A channel looks only now and then whether it waits for an acknowledgement too long, which no plain setting changes. */
const advanced = ({ acknowledgementTimeoutMs: ms }: RabbitPlan): string =>
  ms === undefined
    ? '[].\n'
    : `[{rabbit, [{consumer_timeout, ${ms}}, {channel_tick_interval, ${Math.ceil(ms / 4)}}]}].\n`;

const environment = (plan: RabbitPlan): Record<string, string> => ({
  ERL_EPMD_PORT: String(plan.epmdPort),
  ERL_EPMD_ADDRESS: '127.0.0.1',
  ERL_INETRC: join(plan.folder, 'inetrc'),
  RABBITMQ_NODENAME: `dueline${plan.amqpPort}@localhost`,
  RABBITMQ_DIST_PORT: String(plan.distributionPort),
  RABBITMQ_CONF_ENV_FILE: '/dev/null', // the machine's own settings are not for us
  RABBITMQ_CONFIG_FILE: join(plan.folder, 'rabbitmq.conf'),
  RABBITMQ_ADVANCED_CONFIG_FILE: join(plan.folder, 'advanced.config'),
  RABBITMQ_MNESIA_BASE: join(plan.folder, 'data'),
  RABBITMQ_LOG_BASE: plan.folder,
  RABBITMQ_LOGS: '-',
  RABBITMQ_ENABLED_PLUGINS_FILE: join(plan.folder, 'enabled_plugins'),
  RABBITMQ_PID_FILE: join(plan.folder, 'pid'),
  RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
    '+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}',
});

/** Asks our node, known by the random password, whether it is the one that listens on the AMQP port. */
async function problemOf(plan: RabbitPlan): Promise<string | undefined> {
  const url = `http://127.0.0.1:${plan.managementPort}/api/health/checks/port-listener/${plan.amqpPort}`;
  const authorization = `Basic ${Buffer.from(`${plan.user}:${plan.password}`).toString('base64')}`;
  try {
    const response = await fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response.ok ? undefined : `its management API answers ${response.status}`;
  } catch (error) {
    return messageOf(error);
  }
}

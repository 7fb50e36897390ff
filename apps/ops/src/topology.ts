import { QUEUES } from '@dueline/contracts';
import { PermanentError } from '@dueline/kernel';
import {
  declareTopology,
  grantBrokerUsers,
  type Log,
  permissionsAsDefinitions,
  ROUTED_APPS,
  verifyTopology,
} from '@dueline/mq';
import { loadTopologyConfig } from './config.ts';

export interface TopologyDeps {
  readonly env: NodeJS.ProcessEnv;
  readonly print: (line: string) => void;
  readonly log: Log;
}

/** Declares every exchange, queue, binding and policy; repeats change nothing. */
export async function applyTopology({ env, print, log }: TopologyDeps): Promise<void> {
  const config = loadTopologyConfig(env);
  await declareTopology({ url: config.AMQP_URL, managementUrl: config.AMQP_MANAGEMENT_URL, queues: QUEUES, log });
  print(`${QUEUES.length} queues with their exchanges, dead letters and policies are declared`);
}

/** Prints what the broker lacks or has differently. @throws PermanentError when there is anything. */
export async function checkTopology({ env, print, log }: TopologyDeps): Promise<void> {
  const config = loadTopologyConfig(env);
  const findings = await verifyTopology({
    url: config.AMQP_URL,
    managementUrl: config.AMQP_MANAGEMENT_URL,
    queues: QUEUES,
    log,
  });
  for (const finding of findings) print(finding);
  if (findings.length > 0)
    throw new PermanentError('the broker differs from the topology; `dueline topology` repairs it');
  print('the broker is as declared');
}

/**
 * Prints what each app may do at the broker, as a definitions file (`rabbitmqctl import_definitions`) for users that are called as the apps
 * are. Connects to nothing.
 */
export function printPermissions({ env, print }: Pick<TopologyDeps, 'env' | 'print'>): void {
  const { pathname } = new URL(loadTopologyConfig(env).AMQP_URL);
  const vhost = pathname.length > 1 ? decodeURIComponent(pathname.slice(1)) : '/';
  print(JSON.stringify(permissionsAsDefinitions(vhost), undefined, 2));
}

/** Gives the users of the broker that are called as the apps are what their apps may do in the vhost, and takes the rest away. */
export async function grantPermissions({ env, print }: Pick<TopologyDeps, 'env' | 'print'>): Promise<void> {
  const config = loadTopologyConfig(env);
  await grantBrokerUsers(
    { url: config.AMQP_URL, managementUrl: config.AMQP_MANAGEMENT_URL },
    ROUTED_APPS.map((app) => ({ app, user: app })),
  );
  print(`${ROUTED_APPS.join(', ')} may do at the broker what their apps do`);
}

import { QUEUES } from '@dueline/contracts';
import { PermanentError } from '@dueline/kernel';
import { declareTopology, type Log, verifyTopology } from '@dueline/mq';
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

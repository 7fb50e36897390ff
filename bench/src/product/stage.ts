import { join } from 'node:path';
import { ROOT } from '@dueline/demo';
import { type PrivateServices, startDurable } from '@dueline/local-services';
import type { Groups } from '../measure/processor.ts';

/** Servers of the bench's own, set as in production. */
export interface Stage {
  readonly services: PrivateServices;
  /** Where their processor time is found. */
  readonly servers: Groups;
  readonly stateFolder: string;
  readonly tell: (line: string) => void;
}

/** @throws LocalServicesError when PostgreSQL, RabbitMQ or Redis is not installed: processor time is only told of processes here. */
export async function setStage(env: NodeJS.ProcessEnv, tell: (line: string) => void): Promise<Stage> {
  const stateFolder = join(ROOT, '.dueline');
  const services = await startDurable({ stateFolder, env });
  const servers: Groups = {
    postgres: () => [services.postgres.pid()],
    rabbitmq: () => [services.rabbitmq.pid()],
    redis: () => [services.redis.pid()],
  };
  return { services, servers, stateFolder, tell };
}

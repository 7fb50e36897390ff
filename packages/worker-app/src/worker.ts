import { randomUUID } from 'node:crypto';
import { type Db, hasTimeMachine, missingMigrations, openDatabase } from '@dueline/db';
import { TransientError } from '@dueline/kernel';
import { type Broker, connectBroker } from '@dueline/mq';
import {
  createCrashPoints,
  createLog,
  createMetrics,
  type HealthCheck,
  type Log,
  type Metrics,
  type OnStop,
  type Reach,
  runService,
  startHealthServer,
  startTracing,
} from '@dueline/runtime';
import { brokerMetrics } from './broker-metrics.ts';
import type { WorkerConfig } from './config.ts';
import { databaseMetrics } from './database-metrics.ts';

/** Connections opened at the start, so that the first event does not wait for them. */
const WARM_CONNECTIONS = 4;

/** What a worker app is composed of; open and supervised. */
export interface Worker {
  readonly db: Db;
  readonly broker: Broker;
  readonly log: Log;
  readonly metrics: Metrics;
  /** `<service>/<instance>:<boot>`: who claims. A new boot of the same instance knows the rows of the old one. */
  readonly claimedBy: string;
  /** Registers a step of the ordered stop: what is registered last stops first. */
  readonly onStop: OnStop;
  /** For tests: kills or freezes this process at the crash point that CRASH_AT names; undefined when it names none. */
  readonly reach: Reach | undefined;
}

/**
 * Runs a worker app until it is told to stop: opens database, broker, metrics, traces and health, then calls `start`, which
 * begins the work. Stopping reverses this: no new messages, finish those in hand, broker, database, exit 0. Works from a
 * database or broker that is still away: /readyz says so, and nothing is claimed before both are there.
 *
 * @param config.readsByIndex, config.commitsUnsaved As {@link openDatabase} has them.
 */
export function runWorker(
  service: string,
  config: WorkerConfig & Pick<Parameters<typeof openDatabase>[0], 'readsByIndex' | 'commitsUnsaved'>,
  start: (worker: Worker) => Promise<void>,
): Promise<void> {
  const log = createLog({ service, level: config.LOG_LEVEL, instance: config.INSTANCE_NAME });
  const options = {
    log,
    shutdownTimeoutMs: config.SHUTDOWN_TIMEOUT_SECONDS * 1_000,
    parentPid: config.DUELINE_PARENT_PID,
  };
  return runService(options, async (onStop) => {
    const metrics = createMetrics({ service, version: config.DUELINE_VERSION });
    onStop(
      'traces',
      await startTracing({
        service,
        endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
        instance: config.INSTANCE_NAME,
        log,
      }),
    );

    const { db, warmUp, close } = openDatabase({
      url: config.DATABASE_URL,
      applicationName: service,
      maxConnections: config.DATABASE_MAX_CONNECTIONS,
      readsByIndex: config.readsByIndex ?? false,
      commitsUnsaved: config.commitsUnsaved ?? false,
      onError: (error) => log.warn({ err: error }, 'an idle database connection broke'),
    });
    onStop('database', close);
    await warmUp(Math.min(WARM_CONNECTIONS, config.DATABASE_MAX_CONNECTIONS));

    const { onEvent, watch } = brokerMetrics(metrics);
    const broker = connectBroker({ url: config.AMQP_URL, appId: service, log, onEvent });
    onStop('broker', () => broker.close());
    databaseMetrics(metrics, db);
    watch(broker);

    const checks: Record<string, HealthCheck> = {
      schema: schemaCheck(db),
      broker: brokerCheck(broker),
      ...(config.DUELINE_ENV === 'test' ? {} : { time: timeCheck(db) }),
    };
    const health = await startHealthServer({ port: config.HTTP_PORT, host: config.HTTP_HOST, metrics, checks });
    onStop('health server', () => health.close());
    log.info({ port: health.port }, 'health and metrics are served');

    const claimedBy = `${service}/${config.INSTANCE_NAME}:${randomUUID()}`;
    const reach = createCrashPoints({ at: config.CRASH_AT, log });
    await start({ db, broker, log, metrics, claimedBy, onStop, reach });
    onStop('readiness', () => health.setStopping());
    log.info({ claimedBy }, 'started');
  });
}

/** Ready once the database has this code's schema; asks the database again each time, which also proves that it answers. */
const schemaCheck =
  (db: Db): HealthCheck =>
  async () => {
    const missing = await missingMigrations(db.$client);
    if (missing.length > 0) throw new TransientError(`migrations are missing, the first is ${missing[0]}`);
  };

/** Production runs by the clock alone: never ready on a database whose product time can be moved. */
const timeCheck =
  (db: Db): HealthCheck =>
  async () => {
    if (await hasTimeMachine(db))
      throw new TransientError('product time of this database can be moved: it is no production database');
  };

const brokerCheck =
  (broker: Broker): HealthCheck =>
  async () => {
    const [problem] = broker.problems();
    if (problem !== undefined) throw new TransientError(problem);
  };

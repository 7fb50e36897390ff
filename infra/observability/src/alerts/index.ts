import type { Alert, AlertGroup, SharedAlerts } from '../alert.ts';
import { campaignDispatcher } from './campaign-dispatcher.ts';
import { cronScheduler } from './cron-scheduler.ts';
import { everyConsumer } from './every-consumer.ts';
import { everyService } from './every-service.ts';
import { infrastructure } from './infrastructure.ts';
import { lineDelivery } from './line-delivery.ts';
import { pgListener } from './pg-listener.ts';
import { triggerWorker } from './trigger-worker.ts';

/** Alerts that several apps have. */
export const SHARED_ALERTS: Readonly<Record<SharedAlerts, readonly Alert[]>> = {
  service: everyService,
  consumer: everyConsumer,
};

/**
 * Every alert there is, by the app that it belongs to (`dueline`: RabbitMQ and PostgreSQL). The one home of the rules: what the charts,
 * docker compose and the tests use is made of this.
 */
export const ALERT_GROUPS: readonly AlertGroup[] = [
  { app: 'pg-listener', shared: ['service'], alerts: pgListener },
  { app: 'trigger-worker', shared: ['service', 'consumer'], alerts: triggerWorker },
  { app: 'cron-scheduler', shared: ['service'], alerts: cronScheduler },
  { app: 'campaign-dispatcher', shared: ['service', 'consumer'], alerts: campaignDispatcher },
  { app: 'line-delivery', shared: ['service', 'consumer'], alerts: lineDelivery },
  { app: 'dueline', shared: [], alerts: infrastructure },
];

/** All alerts of a group, those that others have too first. */
export const alertsOf = ({ shared, alerts }: AlertGroup): readonly Alert[] => [
  ...shared.flatMap((name) => SHARED_ALERTS[name]),
  ...alerts,
];

import type { Alert, AlertGroup } from '../alert.ts';
import { campaignDispatcher } from './campaign-dispatcher.ts';
import { cronScheduler } from './cron-scheduler.ts';
import { everyService } from './every-service.ts';
import { infrastructure } from './infrastructure.ts';
import { lineDelivery } from './line-delivery.ts';
import { pgListener } from './pg-listener.ts';
import { triggerWorker } from './trigger-worker.ts';

/** What stands for all of Dueline where an alert names its app. */
const ALL = 'dueline';

const GROUPS: readonly AlertGroup[] = [
  { app: 'pg-listener', isService: true, alerts: pgListener },
  { app: 'trigger-worker', isService: true, alerts: triggerWorker },
  { app: 'cron-scheduler', isService: true, alerts: cronScheduler },
  { app: 'campaign-dispatcher', isService: true, alerts: campaignDispatcher },
  { app: 'line-delivery', isService: true, alerts: lineDelivery },
  { app: ALL, isService: false, alerts: infrastructure },
];

/**
 * Every alert there is, by the app that it belongs to (`dueline`: RabbitMQ and PostgreSQL). The one home of the rules: what the charts,
 * docker compose and the tests use is made of this.
 */
export const ALERT_GROUPS: readonly AlertGroup[] = GROUPS;

/** All alerts of a group, those that every service has first. */
export const alertsOf = ({ isService, alerts }: AlertGroup): readonly Alert[] =>
  isService ? [...everyService, ...alerts] : alerts;

export { everyService as ALERTS_OF_EVERY_SERVICE };

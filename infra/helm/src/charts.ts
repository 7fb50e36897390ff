/** Whom an app talks to: a block of `networkPolicy` in its values, and a rule of its NetworkPolicy. */
export type Peer = 'postgres' | 'rabbitmq' | 'redis' | 'line';

export type ServiceChart = {
  /** Folder of the chart and of the app, and the last part of its image. */
  readonly name: string;
  readonly talksTo: readonly Peer[];
  /** Whether the number of its replicas may follow the work that waits. */
  readonly scales: boolean;
  /** Variables that the chart derives from other values. */
  readonly derived: readonly string[];
};

/** One thin chart for each service below apps/. A test compares this list with the apps and with the charts. */
export const SERVICE_CHARTS: readonly ServiceChart[] = [
  { name: 'campaign-dispatcher', talksTo: ['postgres', 'rabbitmq'], scales: false, derived: [] },
  { name: 'cron-scheduler', talksTo: ['postgres', 'rabbitmq', 'redis'], scales: false, derived: [] },
  {
    name: 'line-delivery',
    talksTo: ['postgres', 'rabbitmq', 'redis', 'line'],
    scales: true,
    derived: ['LINE_DELIVERY_REPLICAS'],
  },
  { name: 'pg-listener', talksTo: ['postgres', 'rabbitmq'], scales: false, derived: [] },
  { name: 'trigger-worker', talksTo: ['postgres', 'rabbitmq'], scales: true, derived: [] },
];

/** The chart that brings schema and queues to a version; its image is that of apps/ops. */
export const MIGRATE_CHART = 'migrate';
/** The chart of all others. */
export const UMBRELLA_CHART = 'dueline';
/** What the others have in common; it renders nothing by itself. */
export const LIBRARY_CHART = 'library';
export const CHARTS_FOLDER = 'infra/helm/charts';

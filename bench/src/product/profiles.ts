/** How the apps claim what is due. */
export interface Profile {
  readonly name: string;
  readonly settings: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Through RabbitMQ alone: cron-scheduler claims and announces, trigger-worker decides. */
export const QUEUE: Profile = {
  name: 'Dueline, through RabbitMQ',
  settings:
    'cron-scheduler claims 500 at a time, messages of up to 100, trigger-worker decides them; defaults otherwise',
  env: { QUEUE_PROFILE: 'true', INLINE_PROFILE: 'false', INLINE_HEAD_START_MS: '0' },
};

/** Without a broker before the decision: trigger-worker claims and decides in one transaction. */
export const INLINE: Profile = {
  name: 'Dueline, inline',
  settings: 'trigger-worker takes and decides 500 at a time in one transaction and one write; defaults otherwise',
  env: { QUEUE_PROFILE: 'false', INLINE_PROFILE: 'true', INLINE_BATCH: '500' },
};

/** As it is installed: inline first, and through RabbitMQ what has been due for 15 ms. */
export const BOTH: Profile = {
  name: 'Dueline, as installed',
  settings: 'both ways, all defaults: what has been due for 15 ms goes through RabbitMQ',
  env: {},
};

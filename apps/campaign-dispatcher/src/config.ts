import { parseConfig } from '@dueline/runtime';
import {
  campaignStaleSeconds,
  directDatabaseUrl,
  listenForDue,
  reapIntervalSeconds,
  workerConfig,
} from '@dueline/worker-app';

export const configSchema = workerConfig.extend({
  DATABASE_URL_DIRECT: directDatabaseUrl,
  LISTEN_FOR_DUE: listenForDue,
  CAMPAIGN_STALE_SECONDS: campaignStaleSeconds,
  REAP_INTERVAL_SECONDS: reapIntervalSeconds,
});

export const loadConfig = (env: NodeJS.ProcessEnv) => parseConfig(configSchema, env);

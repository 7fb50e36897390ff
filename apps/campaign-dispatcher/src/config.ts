import { parseConfig } from '@dueline/runtime';
import { campaignStaleSeconds, reapIntervalSeconds, workerConfig } from '@dueline/worker-app';

export const configSchema = workerConfig.extend({
  CAMPAIGN_STALE_SECONDS: campaignStaleSeconds,
  REAP_INTERVAL_SECONDS: reapIntervalSeconds,
});

export const loadConfig = (env: NodeJS.ProcessEnv) => parseConfig(configSchema, env);

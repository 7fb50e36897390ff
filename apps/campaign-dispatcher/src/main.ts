import { processCampaign } from '@dueline/contracts';
import { configOrExit, every } from '@dueline/runtime';
import { runWorker, tellWhenWritten } from '@dueline/worker-app';
import { loadConfig } from './config.ts';
import { processCampaigns } from './process-campaign.ts';
import { reapDeadCampaigns } from './reap-campaigns.ts';

const config = configOrExit(loadConfig, process.env);

await runWorker('campaign-dispatcher', config, async ({ db, broker, log, metrics, claimedBy, onStop, reach }) => {
  const claimed = metrics.counter({
    name: 'dueline_campaigns_claimed_total',
    help: 'Campaigns claimed because their time had come.',
    labels: ['cast_type'],
  });
  const reaped = metrics.counter({
    name: 'dueline_campaigns_reaped_total',
    help: 'Campaigns taken back or failed, by reason.',
    labels: ['reason'],
  });
  const reap = reapDeadCampaigns({
    db,
    claimedBy,
    staleSeconds: config.CAMPAIGN_STALE_SECONDS,
    onReaped: (reason, count) => {
      reaped.inc({ reason }, count);
      log.warn({ reason, count }, 'campaigns were taken back');
    },
  });

  // A timer of its own, because ticks stop when every scheduler is down.
  const reaper = every({
    name: 'reap campaigns',
    log,
    intervalMs: config.REAP_INTERVAL_SECONDS * 1_000,
    jitter: 0.2,
    run: reap,
  });
  onStop('reaper', () => reaper.stop());

  const consumer = broker.consume(
    processCampaign,
    processCampaigns({
      db,
      broker: tellWhenWritten(broker, reach && (() => reach('process_campaign.written'))),
      claimedBy,
      reap,
      reach,
      onClaimed: (castType) => claimed.inc({ cast_type: castType }),
    }),
    { concurrency: 1 },
  );
  onStop('consumer', () => consumer.drain());
});

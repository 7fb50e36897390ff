import { processCampaign } from '@dueline/contracts';
import { configOrExit, every } from '@dueline/runtime';
import { runWorker, tellWhenWritten } from '@dueline/worker-app';
import { loadConfig } from './config.ts';
import { processCampaigns } from './process-campaign.ts';
import { reapDeadCampaigns } from './reap-campaigns.ts';
import { measureStarts } from './start-metrics.ts';
import { startOnTime } from './start-on-time.ts';

const config = configOrExit(loadConfig, process.env);

await runWorker('campaign-dispatcher', config, async (worker) => {
  const { db, broker, log, metrics, claimedBy, onStop, reach } = worker;
  const onClaimed = measureStarts(worker);
  const reaped = metrics.counter({
    name: 'dueline_campaigns_reaped_total',
    help: 'Campaigns taken back or failed, by reason.',
    labels: ['reason'],
    from0: { reason: ['stale', 'earlier_boot', 'too_late'] },
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
    metrics,
    intervalMs: config.REAP_INTERVAL_SECONDS * 1_000,
    jitter: 0.2,
    run: reap,
  });
  onStop('reaper', () => reaper.stop());

  const deps = {
    db,
    broker: tellWhenWritten(broker, reach && (() => reach('process_campaign.written'))),
    claimedBy,
    reach,
    onClaimed,
  };
  const listenUrl = config.LISTEN_FOR_DUE ? (config.DATABASE_URL_DIRECT ?? config.DATABASE_URL) : undefined;
  startOnTime(worker, { deps, listenUrl });

  const consumer = broker.consume(processCampaign, processCampaigns({ ...deps, reap }), { concurrency: 1 });
  onStop('consumer', () => consumer.drain());
});

import { makePartitions } from '@dueline/db';
import { configOrExit, createDueAlarm, every } from '@dueline/runtime';
import { dueWithin, recoverEarlierBoots } from '@dueline/scheduled-actions';
import { runWorker } from '@dueline/worker-app';
import { announceDueActions } from './announce-due-actions.ts';
import { announceDueDeliveries } from './announce-due-deliveries.ts';
import { loadConfig } from './config.ts';
import { recoverRows } from './recover.ts';

const PARTITION_INTERVAL_MS = 600_000;
const config = configOrExit(loadConfig, process.env);

await runWorker('cron-scheduler', config, async ({ db, broker, log, metrics, claimedBy, onStop }) => {
  const claimed = metrics.counter({
    name: 'dueline_actions_claimed_total',
    help: 'Due actions claimed for the queue.',
  });
  const recovered = metrics.counter({
    name: 'dueline_rows_recovered_total',
    help: 'Rows taken back from dead workers, and deliveries closed because their time was over.',
    labels: ['what'],
  });
  const onRecovered = (what: string, count: number) => {
    recovered.inc({ what }, count);
    log.warn({ what, count }, 'rows were recovered');
  };

  const sweeps = [
    every({
      name: 'recover',
      log,
      intervalMs: config.REAP_INTERVAL_SECONDS * 1_000,
      jitter: 0.2,
      run: recoverRows({ db, onRecovered }),
    }),
    every({
      name: 'announce deliveries',
      log,
      intervalMs: config.DELIVERY_ANNOUNCE_INTERVAL_SECONDS * 1_000,
      run: announceDueDeliveries({ db, broker, againAfterSeconds: config.DELIVERY_ANNOUNCE_AGAIN_SECONDS }),
    }),
    every({ name: 'partitions', log, intervalMs: PARTITION_INTERVAL_MS, run: () => makePartitions(db) }),
  ];
  onStop('sweeps', async () => {
    await Promise.all(sweeps.map((sweep) => sweep.stop()));
  });

  if (!config.QUEUE_PROFILE) return;
  let rowsOfEarlierBoots = true;
  const announce = announceDueActions({
    db,
    broker,
    claim: {
      claimedBy,
      via: 'queue',
      limit: config.CLAIM_BATCH,
      leaseSeconds: config.CLAIM_LEASE_SECONDS,
      maxProcessing: config.QUEUE_AHEAD,
    },
    onClaimed: (count) => claimed.inc(count),
  });
  const alarm = createDueAlarm({
    name: 'announce due actions',
    log,
    lookAhead: (withinMs) => dueWithin(db, withinMs),
    run: async () => {
      if (rowsOfEarlierBoots) rowsOfEarlierBoots = (await recoverEarlierBoots(db, { claimedBy })) > 0;
      return announce();
    },
  });
  onStop('due actions', () => alarm.stop());
});

import { configOrExit, every } from '@dueline/runtime';
import {
  createDueAccounts,
  DUE_CHANNEL,
  dueWithin,
  lookForFacts,
  recoverEarlierBoots,
} from '@dueline/scheduled-actions';
import { countCycles, cyclesWithin } from '@dueline/scheduled-cycles';
import { runWorker, startClaiming, tellWhenWritten, type Worker } from '@dueline/worker-app';
import { announceDueActions } from './announce-due-actions.ts';
import { announceDueDeliveries } from './announce-due-deliveries.ts';
import { keptWorkMonths, loadConfig } from './config.ts';
import { keepPartitions } from './keep-partitions.ts';
import { measureBacklog } from './measure-backlog.ts';
import { measureTables } from './measure-tables.ts';
import { announceOpenCycles, openDueCycles } from './open-due-cycles.ts';
import { recoverRows } from './recover.ts';
import { releaseLostTickets } from './release-untaken.ts';
import { removeOldWork } from './remove-old-work.ts';
import { tickCampaigns } from './tick-campaigns.ts';
import { createTickKey } from './tick-key.ts';

const PARTITION_INTERVAL_MS = 600_000;
const OLD_WORK_INTERVAL_MS = 600_000;
/** Rows of a table that are looked at within {@link OLD_WORK_INTERVAL_MS} and the time that it takes: some 25 million a day. */
const OLD_WORK_ROWS = 200_000;
const FACT_SWEEP_INTERVAL_MS = 60_000;
/** Looks at the clock within one campaign tick, at least: how late a tick can be, and how soon a failed one is repeated. */
const LOOKS_PER_TICK = 4;
const TICK_LOOK_MS = 1_000;
const CYCLE_ANNOUNCE_INTERVAL_MS = 500;
const CYCLE_COUNT_INTERVAL_MS = 1_000;
const CYCLE_LATENESS_SECONDS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600];
const config = configOrExit(loadConfig, process.env);

await runWorker('cron-scheduler', config, async (worker) => {
  measureBacklog(worker, { graceSeconds: config.WAIT_GRACE_SECONDS });
  measureTables(worker);
  startSweeps(worker);
  startRemoving(worker);
  startTicking(worker);
  startCycles(worker);
  if (config.QUEUE_PROFILE) {
    startAnnouncing(worker);
    startReleasing(worker);
  }
});

/** What is done at intervals so that nothing is lost: rows of dead workers, deliveries without a ticket, facts that were overlooked. */
function startSweeps({ db, broker, log, metrics, onStop, reach }: Worker): void {
  const recovered = metrics.counter({
    name: 'dueline_rows_recovered_total',
    help: 'Rows taken back from dead workers, and deliveries closed because their time was over.',
    labels: ['what'],
    from0: { what: ['scheduled_action', 'delivery', 'deadly_row'] },
  });
  const onRecovered = (what: string, count: number) => {
    recovered.inc({ what }, count);
    log.warn({ what, count }, 'rows were recovered');
  };
  const sweeps = [
    every({
      name: 'recover',
      log,
      metrics,
      intervalMs: config.REAP_INTERVAL_SECONDS * 1_000,
      jitter: 0.2,
      run: recoverRows({ db, onRecovered }),
    }),
    every({
      name: 'announce deliveries',
      log,
      metrics,
      intervalMs: config.DELIVERY_ANNOUNCE_INTERVAL_SECONDS * 1_000,
      run: announceDueDeliveries({
        db,
        broker: tellWhenWritten(broker, reach && (() => reach('announce_delivery.written'))),
        againAfterSeconds: config.DELIVERY_ANNOUNCE_AGAIN_SECONDS,
        reach,
      }),
    }),
    every({
      name: 'facts older than their waits',
      log,
      metrics,
      intervalMs: FACT_SWEEP_INTERVAL_MS,
      run: () => lookForFacts(db),
    }),
  ];
  onStop('sweeps', async () => {
    await Promise.all(sweeps.map((sweep) => sweep.stop()));
  });
}

/** What is old goes: whole months of history, and work that ended. */
function startRemoving({ db, log, metrics, onStop }: Worker): void {
  const { KEEP_HISTORY_MONTHS: history, KEEP_EVENTS_MONTHS: events } = config;
  const retention = { trigger_log: history, event_archive: events, attribute_change: events };
  const stopping = new AbortController();
  const work = { keepMonths: keptWorkMonths(config), mostRows: OLD_WORK_ROWS, signal: stopping.signal };
  const sweeps = [
    every({
      name: 'partitions',
      log,
      metrics,
      intervalMs: PARTITION_INTERVAL_MS,
      run: keepPartitions({ db, log, metrics, retention }),
    }),
    every({
      name: 'old work',
      log,
      metrics,
      intervalMs: OLD_WORK_INTERVAL_MS,
      run: removeOldWork({ db, log, metrics, ...work }),
    }),
  ];
  onStop('removal of what is old', async () => {
    stopping.abort();
    await Promise.all(sweeps.map((sweep) => sweep.stop()));
  });
}

/** The campaign clock. */
function startTicking({ db, broker, log, metrics, onStop, reach }: Worker): void {
  const ticks = metrics.counter({
    name: 'dueline_campaign_ticks_total',
    help: 'Campaign ticks of this replica, by what became of them.',
    labels: ['result'],
    from0: { result: ['published', 'failed'] },
  });
  const intervalSeconds = config.CAMPAIGN_TICK_INTERVAL_SECONDS;
  const { firstOf, close } = createTickKey({ url: config.REDIS_URL, log });
  onStop('tick key', async () => close());
  const clock = every({
    name: 'campaign tick',
    log,
    metrics,
    intervalMs: Math.min(TICK_LOOK_MS, (intervalSeconds * 1_000) / LOOKS_PER_TICK),
    run: tickCampaigns({
      db,
      broker: tellWhenWritten(broker, reach && (() => reach('tick_campaign.written'))),
      firstOf,
      intervalSeconds,
      onTick: (result) => ticks.inc({ result }),
      reach,
    }),
  });
  onStop('campaign tick', () => clock.stop());
}

/** The clock of time-based rules: opens cycles at the millisecond, announces those that nobody reads, counts those that are read. */
function startCycles(worker: Worker): void {
  const { db, broker, log, metrics, onStop, reach } = worker;
  const cycles = metrics.counter({
    name: 'dueline_cycles_total',
    help: 'Cycles of time-based rules, by what became of them.',
    labels: ['result'],
  });
  const late = metrics.histogram({
    name: 'dueline_cycle_lateness_seconds',
    help: 'How long after its time a cycle of a time-based rule was opened, in seconds of product time.',
    buckets: CYCLE_LATENESS_SECONDS,
  });
  startClaiming(worker, {
    name: 'open due cycles',
    lookAhead: (withinMs) => cyclesWithin(db, withinMs),
    run: openDueCycles({
      db,
      onOpened: (result, count) => cycles.inc({ result }, count),
      onLate: (seconds) => late.observe(seconds),
      reach,
    }),
    listen: undefined,
    onWake: () => undefined,
  });
  const sweeps = [
    every({
      name: 'announce cycles',
      log,
      metrics,
      intervalMs: CYCLE_ANNOUNCE_INTERVAL_MS,
      run: announceOpenCycles({
        db,
        broker: tellWhenWritten(broker, reach && (() => reach('announce_cycle.written'))),
        againAfterSeconds: config.DELIVERY_ANNOUNCE_AGAIN_SECONDS,
        reach,
      }),
    }),
    every({
      name: 'count cycles',
      log,
      metrics,
      intervalMs: CYCLE_COUNT_INTERVAL_MS,
      run: async () => {
        const completed = await countCycles(db, { onWritten: () => reach?.('count_cycle.counting') });
        cycles.inc({ result: 'completed' }, completed.length);
        for (const cycle of completed) log.info(cycle, 'a cycle is completed');
      },
    }),
  ];
  onStop('cycles', async () => {
    await Promise.all(sweeps.map((sweep) => sweep.stop()));
  });
}

/** The queue profile: claims what is due, at the millisecond, and announces it. */
function startAnnouncing(worker: Worker): void {
  const { db, broker, metrics, claimedBy, reach } = worker;
  const claimed = metrics.counter({
    name: 'dueline_actions_claimed_total',
    help: 'Due actions claimed for the queue.',
  });
  const overdueMs = config.INLINE_HEAD_START_MS;
  const list = { accounts: createDueAccounts(), graceSeconds: config.WAIT_GRACE_SECONDS };
  const announce = announceDueActions({
    db,
    broker: tellWhenWritten(broker, reach && (() => reach('announce_action.written'))),
    reach,
    claim: {
      claimedBy,
      via: 'queue',
      limit: config.CLAIM_BATCH,
      leaseSeconds: config.CLAIM_LEASE_SECONDS,
      maxProcessing: config.QUEUE_AHEAD,
      overdueMs,
      ...list,
    },
    onClaimed: (count) => claimed.inc(count),
  });
  let rowsOfEarlierBoots = true;
  startClaiming(worker, {
    name: 'announce due actions',
    lookAhead: async (withinMs) => (await dueWithin(db, withinMs, list)).map((waitMs) => waitMs + overdueMs),
    run: async () => {
      if (rowsOfEarlierBoots) rowsOfEarlierBoots = (await recoverEarlierBoots(db, { claimedBy })) > 0;
      return announce();
    },
    listen: config.LISTEN_FOR_DUE
      ? { url: config.DATABASE_URL_DIRECT ?? config.DATABASE_URL, channel: DUE_CHANNEL }
      : undefined,
    onWake: list.accounts.wake,
  });
}

/** Gives rows back whose tickets are gone, long before their lease is over. */
function startReleasing({ db, broker, log, metrics, onStop }: Worker): void {
  const released = metrics.counter({
    name: 'dueline_actions_released_total',
    help: 'Claimed actions given back because their tickets were gone, by how that was known.',
    labels: ['why'],
    from0: { why: ['queue_empty', 'connection_lost'] },
  });
  const releasing = every({
    name: 'release lost tickets',
    log,
    metrics,
    intervalMs: config.RELEASE_CHECK_SECONDS * 1_000,
    run: releaseLostTickets({
      db,
      broker,
      olderThanSeconds: config.RELEASE_AFTER_SECONDS,
      onReleased: (why, count) => {
        released.inc({ why }, count);
        log.warn({ why, count }, 'tickets were gone; their actions are pending again');
      },
    }),
  });
  onStop('release lost tickets', () => releasing.stop());
}

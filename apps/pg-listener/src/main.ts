import { EVENT_TOPICS } from '@dueline/contracts';
import { EVENTS_CHANNEL, notifyQueueRatio, outboxLag, untilAnnounced } from '@dueline/db/changes';
import { configOrExit, createDueAlarm, createLookAgain, shared } from '@dueline/runtime';
import { runWorker, tellWhenWritten, type Worker, wakeOnNotify } from '@dueline/worker-app';
import { announceOutboxEvents } from './announce-events.ts';
import { loadConfig } from './config.ts';

const config = configOrExit(loadConfig, process.env);

await runWorker('pg-listener', { ...config, readsByIndex: true, commitsUnsaved: true }, async (worker) => {
  const { db, broker, log, metrics, onStop, reach } = worker;
  const published = metrics.counter({
    name: 'dueline_outbox_published_total',
    help: 'Events announced.',
    labels: ['topic'],
    from0: { topic: EVENT_TOPICS },
  });
  measureOutbox(worker);

  const headStartMs = config.INLINE_HEAD_START_MS;
  const lookAgain = createLookAgain();
  const announce = announceOutboxEvents({
    db,
    broker: tellWhenWritten(broker, reach && (() => reach('announce_event.written'))),
    reach,
    limits: {
      limit: config.OUTBOX_BATCH,
      leaseSeconds: config.OUTBOX_LEASE_SECONDS,
      maxPublished: config.OUTBOX_MAX_PUBLISHED,
      headStartMs,
    },
    onPublished: (topic, count) => published.inc({ topic }, count),
  });
  const alarm = createDueAlarm({
    name: 'announce events',
    log,
    metrics,
    run: async () => {
      const found = await announce();
      if (found) lookAgain.found();
      return found;
    },
    lookAhead: async () => [...lookAgain.waits(), ...(headStartMs > 0 ? await untilAnnounced(db, headStartMs) : [])],
    sweepEveryMs: config.OUTBOX_POLL_SECONDS * 1_000,
  });
  const wake = wakesAfter(headStartMs, () => alarm.wake());
  onStop('announcements', async () => {
    wake.stop();
    await alarm.stop();
  });

  wakeOnNotify(worker, {
    url: config.DATABASE_URL_DIRECT ?? config.DATABASE_URL,
    wakes: { [EVENTS_CHANNEL]: wake.told },
  });
});

/** What is not decided yet, and whether hints still come through. */
function measureOutbox({ db, metrics }: Pick<Worker, 'db' | 'metrics'>): void {
  const lag = shared(() => outboxLag(db));
  metrics.gauge({
    name: 'dueline_outbox_rows',
    help: 'Events that are not decided yet.',
    collect: async (gauge) => gauge.set((await lag()).rows),
  });
  metrics.gauge({
    name: 'dueline_outbox_oldest_seconds',
    help: 'Age of the oldest event that is not decided yet.',
    collect: async (gauge) => gauge.set((await lag()).oldestSeconds),
  });

  metrics.gauge({
    name: 'dueline_notify_queue_ratio',
    help: "How full PostgreSQL's queue of notifications is, 0 to 1; full, every NOTIFY fails.",
    collect: async (gauge) => gauge.set(await notifyQueueRatio(db)),
  });
}

/** Passes on the first of several hints once the head start of what it tells of is over. */
function wakesAfter(ms: number, wake: () => void): { told(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const ring = () => {
    timer = undefined;
    wake();
  };
  return {
    told: () => {
      if (ms === 0) wake();
      else timer ??= setTimeout(ring, Math.ceil(ms) + 1);
    },
    stop: () => clearTimeout(timer),
  };
}

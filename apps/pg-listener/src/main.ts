import { notifyQueueRatio, outboxLag } from '@dueline/db/changes';
import { configOrExit, createDueAlarm, createLookAgain, shared } from '@dueline/runtime';
import { runWorker, tellWhenWritten, wakeOnNotify } from '@dueline/worker-app';
import { announceOutboxEvents } from './announce-events.ts';
import { loadConfig } from './config.ts';

const config = configOrExit(loadConfig, process.env);

await runWorker('pg-listener', { ...config, readsByIndex: true, commitsUnsaved: true }, async (worker) => {
  const { db, broker, log, metrics, onStop, reach } = worker;
  const published = metrics.counter({
    name: 'dueline_outbox_published_total',
    help: 'Events announced.',
    labels: ['topic'],
  });
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

  const lookAgain = createLookAgain();
  const announce = announceOutboxEvents({
    db,
    broker: tellWhenWritten(broker, reach && (() => reach('announce_event.written'))),
    reach,
    limits: {
      limit: config.OUTBOX_BATCH,
      leaseSeconds: config.OUTBOX_LEASE_SECONDS,
      maxPublished: config.OUTBOX_MAX_PUBLISHED,
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
    lookAhead: async () => lookAgain.waits(),
    sweepEveryMs: config.OUTBOX_POLL_SECONDS * 1_000,
  });
  onStop('announcements', () => alarm.stop());

  wakeOnNotify(worker, {
    url: config.DATABASE_URL_DIRECT ?? config.DATABASE_URL,
    channel: 'event_outbox',
    onWake: () => alarm.wake(),
  });
});

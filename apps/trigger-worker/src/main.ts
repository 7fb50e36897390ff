import {
  EVENT_TOPICS,
  QUEUE_OF_TOPIC,
  scheduledActionFire,
  scheduledActionFireNow,
  scheduledTriggerFire,
} from '@dueline/contracts';
import { EVENTS_CHANNEL } from '@dueline/db/changes';
import { configOrExit, createPoison, every } from '@dueline/runtime';
import { createDueAccounts, DUE_CHANNEL, dueWithin, recoverEarlierBoots } from '@dueline/scheduled-actions';
import { runWorker, startClaiming, tellWhenWritten, type Worker, wakeOnNotify } from '@dueline/worker-app';
import { loadConfig } from './config.ts';
import { afterEarlierBoots, type DecideDeps, handOverTo } from './deps.ts';
import { enrolPeople } from './enrol-people.ts';
import { fireScheduledActions } from './fire-scheduled-action.ts';
import { createGate } from './gate.ts';
import { handleTriggerEvents } from './handle-trigger-event.ts';
import { processDueActions } from './process-due-actions.ts';
import { processEvents } from './process-events.ts';
import { runScheduledCycles } from './run-scheduled-cycle.ts';

/** The promise is 10 s (the seeds': 75 s, by the minute's sweep). */
const LATENESS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 75, 300, 3_600];
/** Cycles that one process reads at once: each keeps a connection busy. */
const CYCLES_AT_ONCE = 2;
/** How often it is looked for people who are to enter a rule. */
const ENROL_LOOK_MS = 1_000;
/** How often it is looked for events that nobody told of. */
const EVENTS_LOOK_MS = 1_000;

const config = configOrExit(loadConfig, process.env);

await runWorker('trigger-worker', { ...config, readsByIndex: true }, async (worker) => {
  const { db, broker, log, metrics, claimedBy, onStop, reach } = worker;
  const deps: DecideDeps = {
    db,
    log,
    handOver: handOverTo({ db, log, broker: tellWhenWritten(broker, reach && (() => reach('hand_over.written'))) }),
    ...countDecisions(metrics),
    reach,
    meet: createPoison({ userId: config.CRASH_ON_USER, log }),
    claimedBy,
    leaseSeconds: config.CLAIM_LEASE_SECONDS,
    gate: createGate(),
    ready: afterEarlierBoots({ db, log, claimedBy }),
  };
  // At once, not with the first work: another replica may wait for what this name had in hand.
  void deps
    .ready()
    .catch((err) => log.warn({ err }, 'what an earlier boot died with is written down with the first work'));

  const consumers = [
    ...EVENT_TOPICS.map((topic) =>
      broker.consume(QUEUE_OF_TOPIC[topic], handleTriggerEvents(deps, topic), {
        concurrency: config.EVENT_CONCURRENCY,
      }),
    ),
    broker.consume(scheduledActionFire, fireScheduledActions(deps), { concurrency: config.FIRE_CONCURRENCY }),
    broker.consume(scheduledActionFireNow, fireScheduledActions(deps), { concurrency: config.FIRE_CONCURRENCY }),
    broker.consume(scheduledTriggerFire, runScheduledCycles(deps), { concurrency: CYCLES_AT_ONCE }),
  ];
  onStop('consumers', async () => {
    await Promise.all(consumers.map((consumer) => consumer.drain()));
  });

  const enrolling = every({
    name: 'enrol people',
    log,
    metrics,
    intervalMs: ENROL_LOOK_MS,
    run: () => enrolWhileDue(deps),
  });
  onStop('enrolling', () => enrolling.stop());

  if (!config.INLINE_PROFILE) return;
  const wakes = { [DUE_CHANNEL]: startProcessing(worker, deps), [EVENTS_CHANNEL]: startProcessingEvents(worker, deps) };
  if (config.LISTEN_FOR_DUE) wakeOnNotify(worker, { url: config.DATABASE_URL_DIRECT ?? config.DATABASE_URL, wakes });
});

/** What is counted of decisions. */
function countDecisions(metrics: Worker['metrics']): Pick<DecideDeps, 'onDecided' | 'onTaken' | 'onLate'> {
  const decisions = metrics.counter({
    name: 'dueline_decisions_total',
    help: 'Decisions taken, by what was looked at and what was decided.',
    labels: ['kind', 'decision'],
    from0: { kind: ['event', 'scheduled_action'], decision: ['fired', 'failed'] },
  });
  const taken = metrics.counter({
    name: 'dueline_events_taken_total',
    help: 'Events that were decided, by topic and by the way on which they came: straight from the outbox (inline) or announced (queue).',
    labels: ['topic', 'profile'],
    from0: { topic: EVENT_TOPICS, profile: ['inline', 'queue'] },
  });
  const late = metrics.histogram({
    name: 'dueline_action_lateness_seconds',
    help: 'How long after its time an action was decided for good, in seconds of product time.',
    buckets: LATENESS_SECONDS,
  });
  return {
    onDecided: (kind, decision) => decisions.inc({ kind, decision }),
    onTaken: (topic, profile, count) => taken.inc({ topic, profile }, count),
    onLate: (seconds) => late.observe(seconds),
  };
}

/** Pages of people who match a rule already, for as long as one is due and the interval lasts. */
async function enrolWhileDue(deps: DecideDeps): Promise<void> {
  await deps.ready();
  const until = performance.now() + ENROL_LOOK_MS;
  while ((await enrolPeople(deps)) && performance.now() < until);
}

/** The inline profile of events: takes what happened as soon as it is told of. Returns what is to be called for a hint. */
function startProcessingEvents(worker: Worker, deps: DecideDeps): () => void {
  return startClaiming(worker, {
    name: 'process events',
    lookAhead: async () => [],
    sweepEveryMs: EVENTS_LOOK_MS,
    run: processEvents(deps),
  });
}

/** The inline profile: claims what is due, at the millisecond, and decides it. Returns what is to be called for a hint. */
function startProcessing(worker: Worker, deps: DecideDeps): () => void {
  const { db, claimedBy } = worker;
  const list = { accounts: createDueAccounts(), graceSeconds: config.WAIT_GRACE_SECONDS };
  const processDue = processDueActions(deps, {
    claimedBy,
    via: 'inline',
    limit: config.INLINE_BATCH,
    leaseSeconds: config.CLAIM_LEASE_SECONDS,
    maxProcessing: Number.MAX_SAFE_INTEGER, // what it claims it decides at once
    overdueMs: 0,
    ...list,
  });
  let rowsOfEarlierBoots = true;
  return startClaiming(worker, {
    name: 'process due actions',
    lookAhead: (withinMs) => dueWithin(db, withinMs, list),
    run: async () => {
      await deps.ready(); // before what an earlier boot had claimed is taken back: its deaths come first
      if (rowsOfEarlierBoots) rowsOfEarlierBoots = (await recoverEarlierBoots(db, { claimedBy })) > 0;
      return processDue();
    },
    onWake: list.accounts.wake,
  });
}

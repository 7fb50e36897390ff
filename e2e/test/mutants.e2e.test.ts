import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppName } from '@dueline/demo';
import type { CrashPoint } from '@dueline/runtime';
import { CLEAN, changeLines, copySources, type History, type LineChange, type Planned } from '@dueline/stress';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stage, startStage, untilReached } from './kill/stage.ts';

/** A product with one line changed, and the accident that brings it to light. */
interface Mutant extends LineChange {
  readonly name: string;
  /** The app that runs the changed line. */
  readonly app: AppName;
  readonly accident: (stage: Stage) => Promise<History>;
  /** What the history checker must say. */
  readonly shows: (history: History) => void;
}

/** An instance that was in no accident before, so that what its log says is of this one. */
const newInstance = (name: string): string => `${name}-${crypto.randomUUID()}`;

/** However slow the machine, LINE's answer comes before the deadline; the lease ends soon after it. */
const UNHURRIED = { ATTEMPT_DEADLINE_SECONDS: '3', LEASE_MARGIN_SECONDS: '0.1' };

interface Death {
  readonly point: CrashPoint;
  readonly users: number;
  /** Settings of the app that dies. */
  readonly env?: Readonly<Record<string, string>>;
  readonly patienceMs?: number;
}

/** The app dies at the point, and another takes over. */
const death =
  (app: AppName, { point, users, env = {}, patienceMs }: Death) =>
  async (stage: Stage): Promise<History> => {
    const { restart } = stage.stack;
    await stage.stack.apps.get(app)?.stop();
    const instance = newInstance('dying');
    const dying = await restart(app, { ...env, INSTANCE_NAME: instance, CRASH_AT: point });
    const planned = await stage.wave(users);
    await untilReached(dying, { point, instance });
    await dying.gone;
    await restart(app, { INSTANCE_NAME: newInstance('successor') });
    return stage.outcome(planned, patienceMs);
  };

/**
 * A sender freezes with LINE's answer in its hand, and its only row goes to a second one, which freezes before it sends. The
 * first goes on and settles what is not its own any more; then the second dies and starts again.
 */
async function lateVerdict(stage: Stage): Promise<History> {
  const { stack } = stage;
  const [first, second] = [newInstance('first'), newInstance('second')];
  await stack.apps.get('line-delivery')?.stop();
  const answered = { ...UNHURRIED, INSTANCE_NAME: first, CRASH_AT: 'send.answered=stop' };
  const late = await stack.restart('line-delivery', answered);
  const planned = await waveOfOne(stage);
  await untilReached(late, { point: 'send.answered', instance: first });
  // However slow the machine, the row is still the second's when the first settles it.
  const patient = { INSTANCE_NAME: second, LEASE_MARGIN_SECONDS: '120' };
  const frozen = await stack.restart('line-delivery', { ...patient, CRASH_AT: 'send.started=stop' });
  await untilReached(frozen, { point: 'send.started', instance: second });
  late.child.kill('SIGCONT');
  await late.stop(); // in order: the verdict is written
  expect(await outcomesBy(stage, first, planned)).toEqual(['accepted']);
  frozen.child.kill('SIGKILL');
  await frozen.gone;
  await stack.restart('line-delivery', patient);
  return stage.outcome(planned);
}

/** One message to one person, so that whoever sends next can get nothing but this row. */
async function waveOfOne(stage: Stage): Promise<Planned[]> {
  const { $client } = stage.stack.database.db;
  const enable = (enabled: boolean) =>
    $client.query("update trigger_rule set enabled = $1 where name = 'later'", [enabled]);
  await enable(false);
  try {
    const planned = (await stage.wave(1)).filter(({ lid }) => lid === 'now');
    await stage.received(planned, 1);
    return planned;
  } finally {
    await enable(true);
  }
}

async function outcomesBy(stage: Stage, instance: string, planned: readonly Planned[]): Promise<string[]> {
  const { rows } = await stage.stack.database.db.$client.query<{ outcome: string }>(
    `select attempt.outcome from delivery_attempt as attempt join delivery on delivery.id = attempt.delivery_id
      where attempt.claimed_by like $1 and delivery.user_id = any($2)`,
    [`%/${instance}:%`, planned.map(({ user }) => user)],
  );
  return rows.map(({ outcome }) => outcome);
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'a verdict asks for the status of the row instead of its fence',
    app: 'line-delivery',
    file: 'packages/deliveries/src/settle.ts',
    line: "(delivery.status = 'sending' and delivery.fence = verdict.fence)",
    changed: "(delivery.status = 'sending')",
    accident: lateVerdict,
    shows: ({ doubled, audit }) => {
      expect(audit).toContainEqual(expect.stringMatching(/^I4\.delivery: /));
      expect(doubled).toEqual([]); // the retry key holds even so
    },
  },
  {
    name: 'a lease that is over is nobody’s business',
    app: 'cron-scheduler',
    file: 'packages/scheduled-actions/src/reap.ts',
    line: 'sql`lease_until < clock_timestamp()`',
    changed: 'sql`false`',
    // The audit lets 2 s pass after the lease.
    accident: death('cron-scheduler', {
      ...{ point: 'announce_action.claimed', users: 30 },
      ...{ env: { CLAIM_LEASE_SECONDS: '1' }, patienceMs: 3_500 },
    }),
    shows: ({ lost, stuck, audit }) => {
      expect(lost).not.toEqual([]);
      expect(stuck).toHaveLength(lost.length);
      expect(audit).toContainEqual(expect.stringMatching(/^I14\.scheduled_action: /));
    },
  },
  {
    name: 'events are taken out of the outbox before what follows is written',
    app: 'trigger-worker',
    file: 'apps/trigger-worker/src/handle-trigger-event.ts',
    line: 'await takeEvents(tx, batch.tickets)',
    changed: 'await inTransaction(deps.db, (own) => takeEvents(own, batch.tickets))',
    // No row is left that could bring anything later, so there is nothing to wait for.
    accident: death('trigger-worker', { point: 'decide_event.deciding', users: 30, patienceMs: 1_000 }),
    shows: ({ lost, stuck }) => {
      expect(lost).toHaveLength(60);
      expect(stuck).toEqual([]);
    },
  },
  {
    name: 'the retry key has the attempt in it',
    app: 'line-delivery',
    file: 'packages/deliveries/src/start.ts',
    line: 'retryKey: row.retry_key,',
    changed: 'retryKey: row.retry_key.slice(0, -1) + (row.attempt_no % 10),',
    accident: death('line-delivery', { point: 'send.answered', users: 1, env: UNHURRIED }),
    shows: ({ doubled, lost, violations }) => {
      expect(doubled).toContainEqual(expect.stringMatching(/ × now of /));
      expect(violations).toContainEqual(expect.stringMatching(/^V12 /));
      expect(lost).toEqual([]);
    },
  },
];

let sources: string;
let stage: Stage;

beforeAll(async () => {
  sources = await copySources();
  stage = await startStage({ appsFolder: join(sources, 'apps') });
});
afterAll(async () => {
  await stage?.stack.stop();
  await rm(sources, { recursive: true, force: true });
});

/** Every app that starts while `work` runs has the changed line; afterwards the product is again as it was. */
async function withMutant<Result>({ app, file, line, changed }: Mutant, work: () => Promise<Result>): Promise<Result> {
  const putBack = await changeLines(sources, [{ file, line, changed }]);
  try {
    return await work();
  } finally {
    await putBack();
    await stage.stack.apps.get(app)?.stop();
    await stage.stack.restart(app);
  }
}

test('the product as it is comes through a late verdict [SEM-058]', async () => {
  expect(await lateVerdict(stage)).toEqual(CLEAN);
});

test.for(MUTANTS)('the history checker notices when $name', async (mutant) => {
  mutant.shows(await withMutant(mutant, () => mutant.accident(stage)));
});

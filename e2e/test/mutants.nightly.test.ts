import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AppName } from '@dueline/demo';
import type { CrashPoint } from '@dueline/runtime';
import { expect, test } from 'vitest';
import { CLEAN, type History } from './kill/history.ts';
import { type Stage, startStage, untilReached } from './kill/stage.ts';
import { ROOT } from './support.ts';

/** A product with one line changed, and the accident that brings it to light. */
interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly line: string;
  readonly changed: string;
  readonly accident: (stage: Stage) => Promise<History>;
  /** What the history checker must say, of sixty messages. */
  readonly shows: (history: History) => void;
}

/** The app dies at the point, and another takes over. */
const death =
  (app: AppName, point: CrashPoint) =>
  async (stage: Stage): Promise<History> => {
    const { apps, restart } = stage.stack;
    await apps.get(app)?.stop();
    const dying = await restart(app, { INSTANCE_NAME: 'dying', CRASH_AT: point });
    const planned = await stage.wave();
    await untilReached(dying, { point, instance: 'dying' });
    await dying.gone;
    await restart(app, { INSTANCE_NAME: 'successor' });
    return stage.outcome(planned, 8_000);
  };

/**
 * A sender freezes with LINE's answers in its hand, and its rows go to a second one, which freezes before it sends. The
 * first goes on and settles what is not its own any more; the second dies, a third takes over.
 */
async function lateVerdict(stage: Stage): Promise<History> {
  const { apps, restart, database } = stage.stack;
  // One message to each, so that the second gets the rows of the first and no others.
  await database.db.$client.query("update trigger_rule set enabled = false where name = 'later'");
  await apps.get('line-delivery')?.stop();
  const first = await restart('line-delivery', { INSTANCE_NAME: 'first', CRASH_AT: 'send.answered=stop' });
  const planned = (await stage.wave()).filter(({ lid }) => lid === 'now');
  await untilReached(first, { point: 'send.answered', instance: 'first' });
  const second = await restart('line-delivery', { INSTANCE_NAME: 'second', CRASH_AT: 'send.started=stop' });
  await untilReached(second, { point: 'send.started', instance: 'second' });
  first.child.kill('SIGCONT');
  const late = "select from delivery_attempt where claimed_by like '%/first:%' and outcome is not null";
  await expect
    .poll(async () => (await database.db.$client.query(late)).rowCount, { timeout: 10_000 })
    .toBeGreaterThan(0);
  second.child.kill('SIGKILL');
  await restart('line-delivery', { INSTANCE_NAME: 'third' });
  return stage.outcome(planned);
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'the retry key has the attempt in it',
    file: 'packages/deliveries/src/start.ts',
    line: 'retryKey: row.retry_key,',
    changed: 'retryKey: row.retry_key.slice(0, -1) + (row.attempt_no % 10),',
    accident: death('line-delivery', 'send.answered'),
    shows: ({ doubled, lost, violations }) => {
      expect(doubled).not.toEqual([]);
      expect(violations).toContainEqual(expect.stringMatching(/^V12 /));
      expect(lost).toEqual([]);
    },
  },
  {
    name: 'a verdict asks for the status of the row instead of its fence',
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
    name: 'events are taken out of the outbox before what follows is written',
    file: 'apps/trigger-worker/src/handle-trigger-event.ts',
    line: 'await takeEvents(tx, message.tenant, message.tickets)',
    changed: 'await inTransaction(deps.db, (own) => takeEvents(own, message.tenant, message.tickets))',
    accident: death('trigger-worker', 'decide_event.deciding'),
    shows: ({ doubled, lost }) => {
      expect(lost).toHaveLength(60);
      expect(doubled).toEqual([]);
    },
  },
  {
    name: 'a lease that is over is nobody’s business',
    file: 'packages/scheduled-actions/src/reap.ts',
    line: 'sql`lease_until < clock_timestamp()`',
    changed: 'sql`false`',
    accident: death('cron-scheduler', 'announce_action.claimed'),
    shows: ({ lost, stuck, audit }) => {
      expect(lost).toHaveLength(30);
      expect(stuck).toHaveLength(30);
      expect(audit).toContainEqual(expect.stringMatching(/^I14\.scheduled_action: /));
    },
  },
];

/** The sources of apps and packages in a folder of their own, with one line changed, on the installed packages. */
async function mutate({ file, line, changed }: Mutant): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'dueline-mutant-')));
  // The links between our packages are relative, so they lead to the copies.
  for (const part of ['apps', 'packages'])
    await cp(join(ROOT, part), join(folder, part), { recursive: true, verbatimSymlinks: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const before = await readFile(join(folder, file), 'utf8');
  expect(before.split(line), `the line that the mutant changes is not once in ${file}`).toHaveLength(2);
  await writeFile(join(folder, file), before.replace(line, changed));
  return folder;
}

test('the product as it is comes through a late verdict', async () => {
  const stage = await startStage();
  try {
    expect(await lateVerdict(stage)).toEqual(CLEAN);
  } finally {
    await stage.stack.stop();
  }
});

test.for(MUTANTS)('the history checker notices when $name', async (mutant) => {
  const folder = await mutate(mutant);
  const stage = await startStage({ appsFolder: join(folder, 'apps') });
  try {
    mutant.shows(await mutant.accident(stage));
  } finally {
    await stage.stack.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

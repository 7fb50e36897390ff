import { type AccountName, recordDeed } from '@dueline/accounts';
import { type Db, inTransaction, type Tx } from '@dueline/db';
import {
  type CycleRun,
  type CycleView,
  cancelCycle,
  cycleProgress,
  listCycles,
  listSchedules,
  pauseCycle,
  resumeCycle,
  runCycleNow,
  type ScheduleView,
  skipNextCycle,
} from '@dueline/scheduled-cycles';
import { UsageError } from './actions/command-line.ts';
import { oneLine, tableOf, timeIn } from './actions/table.ts';
import { ID } from './id.ts';
import { type Answer, type PersonDeps, runForPerson, type Words, type Work } from './person-command.ts';

const CYCLES_HELP = `usage: dueline cycles list [--rule <id>] [--limit <n>]
       dueline cycles schedules
       dueline cycles show <cycle>
       dueline cycles pause | resume | cancel <cycle>
       dueline cycles run | skip <rule>
all:   [--account <id>] [--json] [--by <name>] [--why <reason>]

The cycles of rules that are set off by time. pause: no more people are read, those who were read are served. cancel: nor are they, as
far as nothing was decided. run: a cycle now, beside the calendar. skip: the next one of the rule is left out.

exit code: 0 done, 1 not done, 2 not understood.`;

const OPTIONS = ['rule', 'limit', 'by', 'why'] as const;
type CycleWords = Words<(typeof OPTIONS)[number]>;
const MOST_LISTED = 500;

/** Runs `dueline cycles …` and returns its exit code: 0 done, 1 not done, 2 not understood. */
export const runCycles = (deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> =>
  runForPerson(deps, args, {
    ...{ name: 'cycles', help: CYCLES_HELP, options: OPTIONS },
    workOf: (words) => workOf(words, words.values.by ?? deps.login),
  });

type Deed = (tx: Tx, account: AccountName, id: string) => Promise<string | undefined>;

/** What a person does to a cycle or a rule, and what is said of it when it is done. */
const DEEDS: Readonly<Record<string, Deed>> = {
  pause: async (tx, account, executionId) => ((await pauseCycle(tx, account, { executionId })) ? 'paused' : undefined),
  resume: async (tx, account, executionId) =>
    (await resumeCycle(tx, account, { executionId })) ? 'goes on' : undefined,
  cancel: async (tx, account, executionId) =>
    (await cancelCycle(tx, account, { executionId })) ? 'cancelled' : undefined,
  run: async (tx, account, triggerRuleId) => {
    const run = await runCycleNow(tx, account, { triggerRuleId });
    return run && beginningOf(run);
  },
  skip: async (tx, account, triggerRuleId) => {
    const at = await skipNextCycle(tx, account, { triggerRuleId });
    return at && `left out: ${timeIn(account.timezone, at)}`;
  },
};

/** When a cycle begins that a person runs. */
function beginningOf({ id, behind, isStopped }: CycleRun): string {
  if (isStopped) return `cycle ${id} waits: the account is stopped`;
  const [first] = behind;
  if (first === undefined) return `cycle ${id} begins`;
  const paused = behind.find(({ isPaused }) => isPaused);
  const others = behind.length === 1 ? '' : ` (and ${behind.length - 1} more)`;
  const until = `cycle ${id} waits until cycle ${first.id}${others} is over`;
  return paused === undefined ? until : `${until}; ${paused.id} is paused: cycles resume or cancel ${paused.id}`;
}

function workOf({ values, positionals }: CycleWords, by: string): Work {
  const [command = '', subject, ...rest] = positionals;
  if (rest.length > 0) throw new UsageError(`${command} takes one thing at a time`);
  if (command === 'list' && subject === undefined) return listWork(values);
  if (command === 'schedules' && subject === undefined) return schedulesWork;
  const deed = Object.hasOwn(DEEDS, command) ? DEEDS[command] : undefined;
  if (deed === undefined && command !== 'show') throw new UsageError(`there is no command ${command}`);
  if (subject === undefined || !ID.test(subject))
    throw new UsageError(`${command} needs the id of a ${command === 'run' || command === 'skip' ? 'rule' : 'cycle'}`);
  if (deed === undefined) return (db, account) => showWork(db, account, subject);
  return (db, account) =>
    inTransaction(db, async (tx) => {
      const done = await deed(tx, account, subject);
      if (done === undefined)
        return {
          json: { id: subject, done: false },
          lines: [`${subject}: not so; list and schedules say how it stands`],
          isWhole: false,
        };
      const states = { before: { id: subject }, after: { done } };
      await recordDeed(tx, account, { operation: `cycle_${command}`, ...states, by, reason: values.why ?? null });
      return { json: { id: subject, done }, lines: [`${subject}: ${done}`], isWhole: true };
    });
}

const listWork = ({ rule, limit = '20' }: CycleWords['values']): Work => {
  if (rule !== undefined && !ID.test(rule)) throw new UsageError(`--rule ${rule}: the id of a rule`);
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MOST_LISTED)
    throw new UsageError(`--limit ${limit}: a number from 1 to ${MOST_LISTED}`);
  return async (db, account) => {
    const cycles = await listCycles(db, account, { triggerRuleId: rule, limit: Number(limit) });
    const head = ['id', 'rule', 'of', 'status', 'people', 'done', 'failed', 'name'];
    const rows = cycles.map((cycle) => [
      ...[cycle.id, cycle.triggerRuleId, timeIn(account.timezone, cycle.scheduledAt), statusOf(cycle)],
      ...[cycle.total, cycle.processed, cycle.failed].map((count) => count.toLocaleString('en')),
      oneLine(cycle.ruleName, 40),
    ]);
    return { json: { cycles }, lines: rows.length === 0 ? ['there is no cycle'] : tableOf(head, rows), isWhole: true };
  };
};

function statusOf({ status, reasonCode, isPaused, message }: CycleView): string {
  if (isPaused) return 'paused';
  return [status, reasonCode === null ? '' : `: ${reasonCode}`, message === null ? '' : `, ${message}`].join('');
}

const schedulesWork: Work = async (db, account) => {
  const schedules = await listSchedules(db, account);
  const next = ({ nextRunAt, problem }: ScheduleView) => problem ?? timeIn(account.timezone, nextRunAt);
  const rows = schedules.map((of) => [of.triggerRuleId, of.cron, next(of), oneLine(of.ruleName, 40)]);
  const lines = rows.length === 0 ? ['no rule is set off by time'] : tableOf(['rule', 'cron', 'next', 'name'], rows);
  return { json: { schedules }, lines, isWhole: true };
};

async function showWork(db: Db, account: AccountName, executionId: string): Promise<Answer> {
  const progress = await cycleProgress(db, account, { executionId });
  if (progress === undefined)
    return { json: { cycle: null }, lines: [`${executionId}: the account has no such cycle`], isWhole: false };
  const { total, open, processed, failed, suppressed, isReading } = progress;
  const lines = [
    `people so far  ${total.toLocaleString('en')}${isReading ? ', and more to come' : ''}`,
    `served         ${(processed - suppressed).toLocaleString('en')}`,
    `left out       ${suppressed.toLocaleString('en')}, by the limits of the rule`,
    `failed         ${failed.toLocaleString('en')}`,
    `wait           ${open.toLocaleString('en')}`,
  ];
  return { json: { id: executionId, ...progress }, lines, isWhole: true };
}

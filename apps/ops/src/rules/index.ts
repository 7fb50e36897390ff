import { recordDeed, type Signed } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { inTenant, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import {
  applyRules,
  deleteRule,
  listFrequencyCaps,
  listRules,
  readRule,
  setFrequencyCap,
  setRuleEnabled,
  setRuleMode,
  showRule,
} from '@dueline/trigger-rules';
import { UsageError } from '../actions/command-line.ts';
import { secondsOf } from '../actions/read-operation.ts';
import { tableOf } from '../actions/table.ts';
import { type Answer, type PersonDeps, runForPerson, tellProblem, type Words, type Work } from '../person-command.ts';
import { checkSource } from './check-source.ts';
import { changeEnrolment, enrolmentsWork, paceOf, startWork } from './enrol.ts';
import { RULES_HELP } from './help.ts';
import { readRuleFiles } from './read-files.ts';
import { renderApplied, renderRule, renderRules } from './render.ts';
import { noRule, ruleOf } from './rule-of.ts';

const OPTIONS = ['confirm', 'by', 'why', 'max', 'per', 'per-minute'] as const;
type Option = (typeof OPTIONS)[number];
const FLAGS = ['yes'];

/** Runs `dueline rules …` and returns its exit code: 0 done, 1 not done, 2 not understood. */
export async function runRules(deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> {
  const [command, ...paths] = args;
  if (command === 'validate' && !args.includes('--help')) return validate(deps, paths);
  const workOf = (words: Words<Option>) => readCommand(words, deps.login);
  return runForPerson(deps, args, { name: 'rules', help: RULES_HELP, options: OPTIONS, flags: FLAGS, workOf });
}

/** Says what is wrong with files without asking a database. */
async function validate(deps: PersonDeps, paths: readonly string[]): Promise<0 | 1 | 2> {
  try {
    if (paths.length === 0 || paths.some((path) => path.startsWith('-')))
      throw new UsageError('validate needs files or folders, and nothing else');
    const sources = await readRuleFiles(paths);
    const problems = sources.flatMap(({ where, document }) => {
      const read = readRule(document, { root: '', checkSource });
      return 'problem' in read ? [`${where}: ${read.problem}`] : [];
    });
    if (problems.length > 0) throw new PermanentError(problems.join('\n'));
    deps.print(`${sources.length === 1 ? 'one rule is' : `${sources.length} rules are`} well-formed`);
    return 0;
  } catch (error) {
    return tellProblem(deps, { name: 'rules', args: paths }, error);
  }
}

/** Which options belong to which command. */
const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  apply: ['confirm', 'yes', 'by', 'why'],
  list: [],
  show: [],
  caps: [],
  cap: ['max', 'per', 'by', 'why'],
  enrol: ['per-minute', 'by', 'why'],
  enrolments: [],
  'enrol-confirm': ['by', 'why'],
  'enrol-cancel': ['by', 'why'],
  ...Object.fromEntries(
    ['publish', 'observe', 'draft', 'enable', 'disable', 'delete'].map((name) => [name, ['by', 'why']]),
  ),
};

function readCommand({ values, flags, positionals }: Words<Option>, login: string): Work {
  const [command = '', ...subjects] = positionals;
  const allowed = OPTIONS_OF[command];
  if (allowed === undefined) throw new UsageError(`there is no command ${command}`.trimEnd());
  const given = [...flags, ...OPTIONS.filter((name) => values[name] !== undefined)];
  const stray = given.find((name) => !allowed.includes(name));
  if (stray !== undefined) throw new UsageError(`--${stray} does not belong to ${command}`);
  const signed = { by: values.by ?? login, reason: values.why ?? null };
  if (command === 'apply') return applyWork(subjects, { confirm: flags.has('yes') ? 'any' : values.confirm, signed });
  if (command === 'cap') return capWork(values, { subjects, signed });
  const look = LOOKS[command];
  if (look !== undefined) {
    if (subjects.length > 0) throw new UsageError(`${command} takes nothing`);
    return look;
  }
  const [subject, ...rest] = subjects;
  const needs = command.startsWith('enrol-') ? 'the id of one enrolment' : 'the id or the name of one rule';
  if (subject === undefined || rest.length > 0) throw new UsageError(`${command} needs ${needs}`);
  if (command === 'enrol') return enrolWork(subject, { pace: paceOf(values['per-minute']), signed });
  if (command === 'enrol-confirm' || command === 'enrol-cancel')
    return changeEnrolment(command, { id: subject, signed });
  return command === 'show' ? showWork(subject) : changeWork(command, { subject, signed });
}

const listWork: Work = async (db, account) => {
  const rules = await listRules(db, account);
  return { json: { rules }, lines: renderRules(rules), isWhole: true };
};

const enrolWork =
  (subject: string, how: Parameters<typeof startWork>[1]): Work =>
  async (db, account) =>
    startWork(await ruleOf(db, account, subject), how)(db, account);

const showWork =
  (subject: string): Work =>
  async (db, account) => {
    const { id } = await ruleOf(db, account, subject);
    const rule = await showRule(db, account, { ruleId: id });
    if (rule === undefined) throw noRule(subject);
    return { json: { rule }, lines: renderRule(rule, account.timezone), isWhole: true };
  };

type Change = (tx: Tx, account: Tenant, ruleId: string) => Promise<boolean>;
const CHANGES: Readonly<Record<string, { readonly change: Change; readonly says: string }>> = {
  publish: {
    change: (tx, account, ruleId) => setRuleMode(tx, account, { ruleId, mode: 'live' }),
    says: 'is live',
  },
  observe: {
    change: (tx, account, ruleId) => setRuleMode(tx, account, { ruleId, mode: 'observe' }),
    says: 'observes: what it would do is written down, and not done',
  },
  draft: {
    change: (tx, account, ruleId) => setRuleMode(tx, account, { ruleId, mode: 'draft' }),
    says: 'is a draft, and not looked at',
  },
  enable: {
    change: (tx, account, ruleId) => setRuleEnabled(tx, account, { ruleId, enabled: true }),
    says: 'is enabled',
  },
  disable: {
    change: (tx, account, ruleId) => setRuleEnabled(tx, account, { ruleId, enabled: false }),
    says: 'is disabled; what waits under it is cancelled or held when it comes due, as the rule says',
  },
  delete: { change: deleteRule, says: 'is deleted; what waits under it is cancelled' },
};

const changeWork =
  (command: string, { subject, signed }: { subject: string; signed: Signed }): Work =>
  async (db, account) => {
    const { id, version, document } = await ruleOf(db, account, subject);
    const { change, says } = CHANGES[command] ?? {};
    if (change === undefined) throw new UsageError(`there is no command ${command}`);
    const isDone = await inTenant(db, account, async (tx) => {
      if (!(await change(tx, account, id))) return false;
      const before = { id, name: document.name, version, mode: document.mode, enabled: document.enabled };
      await recordDeed(tx, account, { operation: `rule_${command}`, before, after: { id }, ...signed });
      return true;
    });
    if (!isDone) throw noRule(subject);
    return { json: { id, command }, lines: [`rule ${id}: ${says}`], isWhole: true };
  };

const applyWork =
  (paths: readonly string[], { confirm, signed }: { confirm: string | undefined; signed: Signed }): Work =>
  async (db, account) => {
    if (paths.length === 0) throw new UsageError('apply needs files or folders');
    const sources = await readRuleFiles(paths);
    const applied = await inTenant(db, account, async (tx) => {
      const done = await applyRules(tx, account, { sources, confirm, checkSource });
      const changed = done.changes.filter(({ kind }) => kind !== 'none');
      if (done.isApplied && changed.length > 0)
        await recordDeed(tx, account, { operation: 'rules_apply', before: {}, after: { changed }, ...signed });
      return done;
    });
    const again = `./dueline rules apply ${paths.join(' ')} --account ${account.lineOaId}`;
    return { json: applied, lines: renderApplied(applied, again), isWhole: true };
  };

const capsWork: Work = async (db, account) => {
  const caps = await listFrequencyCaps(db, account);
  const rows = caps.map(({ maxMessages, windowSeconds }) => [String(maxMessages), `${windowSeconds} s`]);
  const lines = rows.length === 0 ? ['the account has no cap'] : tableOf(['messages', 'within'], rows);
  return { json: { caps }, lines, isWhole: true };
};

function capWork(
  { max, per }: Words<Option>['values'],
  { subjects, signed }: { subjects: readonly string[]; signed: Signed },
): Work {
  if (subjects.length > 0 || max === undefined || per === undefined)
    throw new UsageError('cap needs --max <n>|none and --per <duration>');
  if (max !== 'none' && !/^[1-9]\d{0,3}$/.test(max)) throw new UsageError('--max is a number of messages, or none');
  const cap = { maxMessages: max === 'none' ? null : Number(max), windowSeconds: secondsOf(per, 'per') };
  return (db, account) =>
    inTenant(db, account, async (tx): Promise<Answer> => {
      await setFrequencyCap(tx, account, cap);
      await recordDeed(tx, account, { operation: 'rules_cap', before: {}, after: cap, ...signed });
      const says = cap.maxMessages === null ? 'no cap' : `at most ${cap.maxMessages} messages to a person`;
      return { json: { cap }, lines: [`${says} within ${cap.windowSeconds} s`], isWhole: true };
    });
}

/** Commands that take nothing and change nothing. */
const LOOKS: Readonly<Record<string, Work>> = { list: listWork, caps: capsWork, enrolments: enrolmentsWork };

import { stat } from 'node:fs/promises';
import type { AccountName } from '@dueline/accounts';
import type { Db } from '@dueline/db';
import { type DryRunRequest, dryRun } from '@dueline/explain';
import { PermanentError } from '@dueline/kernel';
import { listRules, type RuleDocument, readRule } from '@dueline/trigger-rules';
import { UsageError } from './actions/command-line.ts';
import { renderDryRun } from './dry-run-render.ts';
import { fileProblem, isNoFile } from './file-problem.ts';
import { type PersonDeps, runForPerson, type Words, type Work } from './person-command.ts';
import { checkSource } from './rules/check-source.ts';
import { readRuleFiles } from './rules/read-files.ts';
import { ruleOf } from './rules/rule-of.ts';
import { timeOption } from './time-option.ts';

const DRY_RUN_HELP = `usage: dueline dry-run <file[#n] | rule> [--from <time>] [--to <time>] [--against <rule>]
       dueline dry-run <file[#n] | rule> --next <duration | cycles> [--against <rule>]
all:   [--account <id>] [--json]

Plays what happened in the account once more to a rule as it would be, and tells for each day how often it would have fired, for whom, and how
many messages that would have been. A rule that is set off by time meets the people of each cycle that its calendar has in the range, which
may be ahead. Nothing is changed and nothing is sent.

<file>     one rule as a file, as for 'rules apply'; of a list of rules, #n names one, from 0
<rule>     a rule of the account by its id or name, a draft too
--from     where to begin; 7d if not given
--to       where to end; now if not given
           2026-11-29T18:00 or 2026-11-29 on the clocks of the account, an instant with an offset, or how long ago: 12h, 7d, 4w; of a rule
           that is set off by time also how long ahead: +12h, +7d
--next     what such a rule will do: for so long from now (7d), or in so many cycles (10)
--against  who is reached newly, and who no more, compared with this rule; if not given, the live rule of the same name

What cannot be known from the past is told at the end. exit code: 0 done, 1 not done, 2 not understood.`;

const OPTIONS = ['from', 'to', 'next', 'against'] as const;

/** Runs `dueline dry-run …` and returns its exit code: 0 done, 1 not done, 2 not understood. */
export const runDryRun = (deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> =>
  runForPerson(deps, args, {
    ...{ name: 'dry-run', help: DRY_RUN_HELP, options: OPTIONS, workOf, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
  });

/** A person waits for it, and no worker; each statement reads one batch. */
const STATEMENT_TIMEOUT_MS = 120_000;

function workOf({ values, positionals }: Words<(typeof OPTIONS)[number]>): Work {
  const [subject, ...rest] = positionals;
  if (subject === undefined || rest.length > 0)
    throw new UsageError('dry-run needs one file, or the id or name of one rule');
  const rangeOf = rangeOption(values);
  return async (db, account) => {
    const tried = await triedOf(db, account, subject);
    const against = values.against === undefined ? tried.against : (await ruleOf(db, account, values.against)).id;
    const run = await dryRun(db, account, { draft: tried.draft, against, ...(await rangeOf(db, account)) });
    const json = { rule: tried.draft.name, against: against ?? null, ...run };
    return { json, lines: renderDryRun(run, { name: tried.draft.name, zone: account.timezone }), isWhole: true };
  };
}

type TypedRange = (db: Db, account: AccountName) => Promise<Pick<DryRunRequest, 'from' | 'to' | 'cycles'>>;

/** What of the past, or of what is ahead. @throws UsageError that names the option. */
function rangeOption({ from, to, next }: Words<(typeof OPTIONS)[number]>['values']): TypedRange {
  if (next === undefined) {
    const [begin, end] = [timeOption('from', from ?? '7d'), to === undefined ? undefined : timeOption('to', to)];
    return async (db, account) => ({ from: await begin(db, account), to: await end?.(db, account) });
  }
  if ((from ?? to) !== undefined) throw new UsageError('either --next, or --from and --to');
  const [now, cycles] = [timeOption('next', '0s'), /^[1-9]\d{0,4}$/.test(next) ? Number(next) : undefined];
  if (cycles !== undefined) return async (db, account) => ({ from: await now(db, account), cycles });
  if (!/^[1-9]\d{0,4}[smhdw]$/.test(next))
    throw new UsageError(`--next ${next}: how long from now, as 12h, 7d or 4w, or how many cycles, as 10`);
  const end = timeOption('next', `+${next}`);
  return async (db, account) => ({ from: await now(db, account), to: await end(db, account) });
}

interface Tried {
  readonly draft: RuleDocument;
  /** The rule that it would take the place of. */
  readonly against: string | undefined;
}

async function triedOf(db: Db, account: AccountName, subject: string): Promise<Tried> {
  const file = await fileOf(subject);
  if (file === undefined) {
    const { id, document } = await ruleOf(db, account, subject);
    return { draft: document, against: document.mode === 'draft' ? undefined : id };
  }
  const sources = await readRuleFiles([file.path]);
  const source = file.n === undefined && sources.length === 1 ? sources[0] : sources[file.n ?? sources.length];
  if (source === undefined)
    throw new PermanentError(`${file.path} has ${sources.length} rules: name one as ${file.path}#0`);
  const read = readRule(source.document, { root: '', checkSource });
  if ('problem' in read) throw new PermanentError(`${source.where}: ${read.problem}`);
  const namesake = (await listRules(db, account)).find(
    ({ document }) => document.name === read.rule.name && document.mode !== 'draft',
  );
  return { draft: read.rule, against: namesake?.id };
}

/** Undefined: there is no such file, so it is the name of a rule. */
async function fileOf(subject: string): Promise<{ readonly path: string; readonly n: number | undefined } | undefined> {
  const [, path = subject, n] = /^(.*)#(\d{1,4})$/.exec(subject) ?? [];
  try {
    if (!(await stat(path)).isFile()) throw new UsageError(`${path} is a folder: dry-run takes one rule`);
    return { path, n: n === undefined ? undefined : Number(n) };
  } catch (error) {
    if (isNoFile(error) && !path.endsWith('.json')) return undefined;
    const problem = fileProblem(error);
    throw problem === undefined ? error : new PermanentError(`${path}: ${problem}`);
  }
}

import { parseArgs } from 'node:util';
import type { AccountName } from '@dueline/accounts';
import { type Db, errorCode, openDatabase } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { UsageError } from './actions/command-line.ts';
import { loadActionsConfig } from './config.ts';
import { accountOf } from './one-account.ts';
import { shortened } from './typed.ts';

/** What the commands of one account need of the outside. */
export interface PersonDeps {
  readonly env: NodeJS.ProcessEnv;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  /** Who runs it, when that is not said. */
  readonly login: string;
}

/** What a command found or did: one JSON object, or the lines for a person. */
export interface Answer {
  readonly json: unknown;
  readonly lines: readonly string[];
  readonly isWhole: boolean;
}
export type Work = (db: Db, account: AccountName) => Promise<Answer>;

export interface Words<Option extends string> {
  readonly values: { readonly [name in Option | 'account']?: string } & { readonly json?: boolean };
  /** Options that may be given several times, with all that was given. */
  readonly lists: Readonly<Partial<Record<string, readonly string[]>>>;
  readonly flags: ReadonlySet<string>;
  readonly positionals: readonly string[];
}

interface PersonCommand<Option extends string> {
  readonly name: string;
  readonly help: string;
  /** Options that take a text, beside --account and --json. */
  readonly options: readonly Option[];
  /** Options that take a text and may be given several times. */
  readonly lists?: readonly string[];
  /** Options that take nothing. */
  readonly flags?: readonly string[];
  /** How long a statement may take, when that is longer than for others. */
  readonly statementTimeoutMs?: number;
  /** Reads what was typed, before the database is asked. @throws UsageError */
  readonly workOf: (words: Words<Option>) => Work;
}

/** @throws UsageError that names what does not fit. */
export function parseWords<Option extends string>(
  args: readonly string[],
  { options, lists = [], flags = [] }: Pick<PersonCommand<Option>, 'options' | 'lists' | 'flags'>,
): Words<Option> {
  const texts = [...options, 'account'].map((name) => [name, { type: 'string' as const }]);
  const marks = [...flags, 'json'].map((name) => [name, { type: 'boolean' as const }]);
  const many = lists.map((name) => [name, { type: 'string' as const, multiple: true }]);
  const known: Record<string, { type: 'string' | 'boolean'; multiple?: boolean }> = Object.fromEntries([
    ...texts,
    ...marks,
    ...many,
  ]);
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: known,
    });
    const given = flags.filter((flag) => values[flag] === true);
    const repeated = lists.map((name) => [name, values[name]]).filter(([, value]) => value !== undefined);
    return {
      values: values as Words<Option>['values'],
      lists: Object.fromEntries(repeated),
      flags: new Set(given),
      positionals,
    };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message.split('. ')[0] ?? error.message);
  }
}

/** Runs a command of one account and returns its exit code: 0 done, 1 not or not all of it done, 2 not understood. */
export async function runForPerson<Option extends string>(
  deps: PersonDeps,
  args: readonly string[],
  command: PersonCommand<Option>,
): Promise<0 | 1 | 2> {
  try {
    if (args.length === 0 || args[0] === 'help' || args.includes('--help') || args.includes('-h')) {
      deps.print(command.help);
      return 0;
    }
    const words = parseWords(args, command);
    const work = command.workOf(words);
    const { json, lines, isWhole } = await withAccount(
      deps.env,
      {
        account: words.values.account,
        ...(command.statementTimeoutMs !== undefined && { statementTimeoutMs: command.statementTimeoutMs }),
      },
      work,
    );
    for (const line of words.values.json ? [JSON.stringify(json)] : lines) deps.print(line);
    return isWhole ? 0 : 1;
  } catch (error) {
    return tellProblem(deps, { name: command.name, args }, error);
  }
}

/** A number, a time or an offset that PostgreSQL cannot hold: somebody typed it, and the message names it. */
const OUT_OF_RANGE = /^220(03|08|09)$/;

const problemOf = (error: unknown): unknown =>
  error instanceof Error && OUT_OF_RANGE.test(errorCode(error) ?? '') ? new UsageError(error.message) : error;

/** Says what a person can do something about, and returns the exit code; throws everything else. */
export function tellProblem(
  { printError }: PersonDeps,
  { name, args }: { readonly name: string; readonly args: readonly string[] },
  thrown: unknown,
): 1 | 2 {
  const error = problemOf(thrown);
  if (!(error instanceof PermanentError) && !(error instanceof UsageError)) throw error;
  const isUsage = error instanceof UsageError;
  const says = shortened(error.message, args);
  printError(isUsage ? `${says}\n\n./dueline ${name} --help says more` : says);
  return isUsage ? 2 : 1;
}

/** Does work for the account that is named, or for the only one. */
export async function withAccount(
  env: NodeJS.ProcessEnv,
  { account, statementTimeoutMs }: { account: string | undefined; statementTimeoutMs?: number },
  work: Work,
): Promise<Answer> {
  const { db, close } = openDatabase({
    url: loadActionsConfig(env).DATABASE_URL,
    applicationName: 'ops',
    maxConnections: 1,
    onError: () => undefined, // the statement in hand throws
    ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
  });
  try {
    return await work(db, await accountOf(db, account));
  } finally {
    await close();
  }
}

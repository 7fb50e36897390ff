import type { AccountName } from '@dueline/accounts';
import { closeAttention } from '@dueline/attention';
import type { Db } from '@dueline/db';
import { cancelDeliveries } from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import {
  type ActionOperation,
  confirmOperation,
  listActions,
  type OnRunAnew,
  type OperationOutcome,
  operate,
  previewOperation,
  showAction,
} from '@dueline/scheduled-actions';
import { type Answer, type PersonDeps, tellProblem, withAccount } from '../person-command.ts';
import { type CommandLine, HELP, readCommandLine, UsageError } from './command-line.ts';
import { filterOf, operationOf } from './read-operation.ts';
import { detailLines, outcomeLine, pageLines, previewLines, reportLines } from './render.ts';

/** A preview reads all that its filter names, hundreds of thousands perhaps. */
const STATEMENT_TIMEOUT_MS = 120_000;

const ROWS_OF_A_PAGE = 20;

/** Runs `dueline actions …` and returns its exit code: 0 done, 1 not or not all of it done, 2 not understood. */
export async function runActions(deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> {
  try {
    const commandLine = readCommandLine(args);
    if (commandLine === 'help') {
      deps.print(HELP.trimEnd());
      return 0;
    }
    const { json, lines, isWhole } = await answer(deps, commandLine);
    if (commandLine.json) deps.print(JSON.stringify(json));
    else for (const line of lines) (isWhole || lines.length > 1 ? deps.print : deps.printError)(line);
    return isWhole ? 0 : 1;
  } catch (error) {
    return tellProblem(deps, { name: 'actions', args }, error);
  }
}

async function answer({ env, login }: PersonDeps, commandLine: CommandLine): Promise<Answer> {
  const change = commandLine.command === 'list' || commandLine.command === 'show' ? undefined : changeOf(commandLine);
  const { account: wanted, by = login, why } = commandLine.values;
  return withAccount(env, { account: wanted, statementTimeoutMs: STATEMENT_TIMEOUT_MS }, (db, account) => {
    if (change !== undefined) return changeActions(db, account, { commandLine, change, author: { by, why } });
    return commandLine.command === 'list' ? list(db, account, commandLine) : show(db, account, commandLine);
  });
}

/** What ran anew needs no person any more. */
const closeItems: OnRunAnew = (tx, { tenant, scheduledActionIds, by }) =>
  closeAttention(tx, tenant, {
    ...{ kind: 'action_failed', refIds: scheduledActionIds },
    ...{ status: 'resolved', closedBy: by, resolution: 'its action runs anew' },
  });
const CONSEQUENCES = { cancelDeliveries, onRunAnew: closeItems };

type Change = { readonly token: string } | { readonly operation: ActionOperation };

/** Read before the database is asked, so that a typing error costs nothing. */
function changeOf(commandLine: CommandLine): Change {
  const { confirm } = commandLine.values;
  if (confirm === undefined) return { operation: operationOf(commandLine) };
  if (commandLine.id !== undefined || Object.keys(filterOf(commandLine)).length > 0)
    throw new UsageError('--confirm does what the preview showed; it takes neither id nor filter');
  return { token: confirm };
}

async function list(db: Db, account: AccountName, commandLine: CommandLine): Promise<Answer> {
  const { limit = String(ROWS_OF_A_PAGE), after } = commandLine.values;
  if (!/^[1-9]\d{0,2}$/.test(limit)) throw new UsageError(`--limit ${limit}: a number from 1 to 500`);
  const page = await listActions(db, account, { filter: filterOf(commandLine), limit: Number(limit), after });
  return { json: page, lines: pageLines(account, page), isWhole: true };
}

async function show(db: Db, account: AccountName, { id = '' }: CommandLine): Promise<Answer> {
  const action = await showAction(db, account, id);
  if (action === undefined) throw new PermanentError(`there is no action ${id} in account ${account.lineOaId}`);
  return { json: action, lines: detailLines(account, action), isWhole: true };
}

async function changeActions(
  db: Db,
  account: AccountName,
  {
    commandLine,
    change,
    author,
  }: { commandLine: CommandLine; change: Change; author: { by: string; why: string | undefined } },
): Promise<Answer> {
  if ('token' in change) {
    const kind = commandLine.command === 'fire' ? 'fire_now' : (commandLine.command as ActionOperation['kind']);
    const report = await confirmOperation(db, account, { token: change.token, kind, by: author.by, ...CONSEQUENCES });
    return { json: report, lines: reportLines(report), isWhole: Object.keys(report.refused).length === 0 };
  }
  const { operation } = change;
  if (commandLine.id === undefined) {
    const preview = await previewOperation(db, account, { ...author, filter: filterOf(commandLine), operation });
    return { json: preview, lines: previewLines(account, preview), isWhole: true };
  }
  const outcome = await changeOne(db, account, { commandLine, id: commandLine.id, operation, author });
  const now = await showAction(db, account, outcome.id);
  return { json: outcome, lines: [outcomeLine(account, outcome, now)], isWhole: outcome.result !== 'refused' };
}

/** Under the fence that the person names, else the one of this moment. */
async function changeOne(
  db: Db,
  account: AccountName,
  {
    commandLine,
    id,
    operation,
    author,
  }: {
    commandLine: CommandLine;
    id: string;
    operation: ActionOperation;
    author: { by: string; why: string | undefined };
  },
): Promise<OperationOutcome> {
  if (Object.keys(filterOf(commandLine)).length > 0) throw new UsageError('either an id or a filter, not both');
  const fence = commandLine.values.fence ?? (await showAction(db, account, id))?.fence ?? '0';
  if (!/^\d{1,19}$/.test(fence)) throw new UsageError(`--fence ${fence}: a number, as show tells it`);
  return operate(db, account, { ...author, ticket: { id, fence }, operation, ...CONSEQUENCES });
}

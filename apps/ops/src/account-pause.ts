import { parseArgs } from 'node:util';
import {
  type AccountState,
  listAccountStates,
  pauseAccount,
  renewWebhookSecret,
  type Signed,
  storeChannelCredentials,
  unpauseAccount,
} from '@dueline/accounts';
import { closeAttention } from '@dueline/attention';
import { type Db, inTransaction } from '@dueline/db';
import { wakeDeliveries } from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import { wakeDue } from '@dueline/scheduled-actions';
import { UsageError } from './actions/command-line.ts';
import { oneLine, tableOf, timeIn } from './actions/table.ts';
import { ID } from './id.ts';
import { accountOf } from './one-account.ts';

export const PAUSE_USAGE = `       dueline account list                                        [--json]
       dueline account pause       <account id>   [--by <who>] [--reason <why>] [--json]
       dueline account unpause     <account id>   [--by …] [--reason …] [--json]
       dueline account credentials <account id>   --kind stored|stateless|short_lived   [--by …] [--reason …] [--json]
       dueline account webhook-secret <account id>   [--by …] [--reason …] [--json]

A paused account sends nothing but what is in doubt, and nothing of it is decided. unpause ends any pause, also one that LINE was the reason of; a
stop it leaves alone. credentials reads the channel access token (stored), or the channel secret that tokens are issued for (stateless for
15 minutes each, short_lived for 30 days), from its standard input and needs SECRETS_KEY. webhook-secret makes the secret that the account's webhooks
are signed with, in place of the one before, and prints it this once; it needs SECRETS_KEY too.`;

const VERBS = ['list', 'pause', 'unpause', 'credentials', 'webhook-secret'] as const;
const KINDS = ['stored', 'stateless', 'short_lived'] as const;
interface PauseCommand extends Signed {
  readonly verb: (typeof VERBS)[number];
  readonly lineOaId: string | undefined;
  readonly kind: (typeof KINDS)[number] | undefined;
  readonly json: boolean;
}

/** What the commands need of the outside besides the database. */
export interface PauseDeps {
  readonly print: (line: string) => void;
  /** Undefined: SECRETS_KEY is not set. */
  readonly secretsKey: Buffer | undefined;
  /** The secret that somebody typed or piped. */
  readonly readSecret: () => Promise<string>;
}

export const isPauseVerb = (word: string | undefined): boolean => VERBS.some((verb) => verb === word);

/** @throws UsageError with the usage when the words are not a command. */
export function parsePauseCommand(words: readonly string[], { user }: { user: string }): PauseCommand {
  const { values, positionals } = wordsOf(words);
  const [word, lineOaId, ...rest] = positionals;
  const verb = VERBS.find((known) => known === word);
  const kind = KINDS.find((known) => known === values.kind);
  const hasAccount = lineOaId !== undefined && ID.test(lineOaId);
  if (verb === undefined || rest.length > 0 || hasAccount !== (verb !== 'list')) throw usage();
  if ((kind !== undefined) !== (verb === 'credentials') || (kind === undefined && values.kind !== undefined))
    throw usage();
  const { by = user, reason = null, json = false } = values;
  return { verb, lineOaId, kind, by, reason, json };
}

const usage = (cause?: unknown) => new UsageError(`usage: ${PAUSE_USAGE.trimStart()}`, { cause });

function wordsOf(words: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    const options = { by: text, reason: text, kind: text, json: { type: 'boolean' } } as const;
    return parseArgs({ args: [...words], allowPositionals: true, options });
  } catch (cause) {
    throw usage(cause);
  }
}

/** Does what was typed and prints what was done. */
export async function runPause(db: Db, command: PauseCommand, deps: PauseDeps): Promise<void> {
  const { print } = deps;
  if (command.verb === 'list') {
    const accounts = await listAccountStates(db);
    for (const line of command.json ? [JSON.stringify({ accounts })] : listLines(accounts)) print(line);
    return;
  }
  const account = await accountOf(db, command.lineOaId);
  const { by, reason, verb, kind } = command;
  const signed = { by, reason };
  if (verb === 'credentials' && kind !== undefined) await store(db, account, { signed, kind, deps });
  if (verb === 'pause') await pause(db, account, signed);
  const secret = verb === 'webhook-secret' ? await renewSecret(db, account, { signed, deps }) : undefined;
  const deliveries = verb === 'unpause' ? await unpause(db, account, signed) : undefined;
  const { lineOaId } = account;
  const done = { command: verb, lineOaId, kind, deliveries, secret }; // what is undefined is not printed
  print(command.json ? JSON.stringify(done) : `account ${lineOaId}: ${DONE[verb]}${secret ?? ''}`);
}

const DONE = {
  pause: 'paused; what is in doubt is still asked for',
  unpause: 'goes on; what waited is sent now',
  credentials: 'credentials stored; a process that holds a token uses the new one within a minute',
  'webhook-secret': 'its webhooks are signed with a new secret from now on; give it to their receivers: ',
} as const;

type Account = Awaited<ReturnType<typeof accountOf>>;

async function pause(db: Db, account: Account, signed: Signed): Promise<void> {
  const isPaused = await inTransaction(db, (tx) => pauseAccount(tx, account, { ...signed, reasonCode: 'by_person' }));
  if (!isPaused) throw new PermanentError(`account ${account.lineOaId} is paused by a person already`);
}

async function unpause(db: Db, account: Account, signed: Signed): Promise<number> {
  await inTransaction(db, async (tx) => {
    if (!(await unpauseAccount(tx, account, signed)))
      throw new PermanentError(`account ${account.lineOaId} is not paused`);
    await closeAttention(tx, account, {
      ...{ kind: 'account_paused', refIds: [account.lineOaId] },
      ...{ status: 'resolved', closedBy: signed.by, resolution: signed.reason ?? 'unpaused' },
    });
    await wakeDue(tx);
  });
  return wakeDeliveries(db, account);
}

async function store(
  db: Db,
  account: Account,
  { signed, kind, deps }: { signed: Signed; kind: (typeof KINDS)[number]; deps: PauseDeps },
): Promise<void> {
  const { secretsKey } = deps;
  if (secretsKey === undefined) throw new PermanentError('SECRETS_KEY is needed to seal credentials');
  const secret = (await deps.readSecret()).trim();
  if (secret === '') throw new PermanentError('the secret is read from the standard input, which is empty');
  const credentials = kind === 'stored' ? { kind, channelAccessToken: secret } : { kind, channelSecret: secret };
  await inTransaction(db, (tx) => storeChannelCredentials(tx, account, { credentials, secretsKey, ...signed }));
}

/** Told to whoever asked, and never again. */
function renewSecret(db: Db, account: Account, { signed, deps }: { signed: Signed; deps: PauseDeps }): Promise<string> {
  const { secretsKey } = deps;
  if (secretsKey === undefined) throw new PermanentError('SECRETS_KEY is needed to seal a webhook secret');
  return inTransaction(db, (tx) => renewWebhookSecret(tx, account, { secretsKey, ...signed }));
}

function listLines(accounts: readonly AccountState[]): string[] {
  if (accounts.length === 0) return ['there is no account yet'];
  const rows = accounts.map(({ lineOaId, name, timezone, status, reasonCode, pausedAt, isStopped, isBreakerOpen }) => [
    ...[lineOaId, oneLine(name, 40), isStopped ? `stopped, ${status}` : status, reasonCode ?? '-'],
    ...[pausedAt === null ? '-' : timeIn(timezone, pausedAt), isBreakerOpen ? 'open' : '-'],
  ]);
  return tableOf(['id', 'name', 'status', 'reason', 'since', 'breaker'], rows);
}

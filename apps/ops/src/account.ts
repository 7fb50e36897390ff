import { parseArgs } from 'node:util';
import { getStop, RESUME_HOW, type ResumeHow, resumeAccount, type StopTarget, stopAccount } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, openDatabase, type Tx } from '@dueline/db';
import { wakeDeliveries } from '@dueline/deliveries';
import { skipHeldUp, spreadHeldUp, wakeDue } from '@dueline/scheduled-actions';
import { recordCancelled } from '@dueline/trigger-rules';
import { CREATE_USAGE, parseCreateCommand, runCreate } from './account-create.ts';
import { isPauseVerb, PAUSE_USAGE, type PauseDeps, parsePauseCommand, runPause } from './account-pause.ts';
import { UsageError } from './actions/command-line.ts';
import { loadAccountConfig } from './config.ts';
import { ID } from './id.ts';

const USAGE = `usage:${CREATE_USAGE.slice('usage:'.length)}
       dueline account stop   <account id> | --organization <id>   [--by <who>] [--reason <why>] [--json]
       dueline account resume <account id> | --organization <id>   --how catch_up|skip|spread [--by …] [--reason …] [--json]

catch_up: what was held up is done at once; skip: it is cancelled; spread: it is done over some minutes.
Messages that were planned before the stop, and campaigns, go on where they are, unless they are too late by now.

${PAUSE_USAGE}`;

interface AccountCommand {
  readonly verb: 'stop' | 'resume';
  readonly target: StopTarget;
  readonly by: string;
  readonly reason: string | null;
  readonly how: ResumeHow | undefined;
  readonly json: boolean;
}

interface AccountDeps {
  readonly env: NodeJS.ProcessEnv;
  readonly print: (line: string) => void;
  readonly login: string;
  /** A secret that somebody typed or piped; none unless given. */
  readonly readSecret?: PauseDeps['readSecret'];
}

const noSecret = async () => '';

/** @throws UsageError with the usage when the words are not a command. */
export function parseAccountCommand(words: readonly string[], { user }: { user: string }): AccountCommand {
  const { values, positionals } = parseWords(words);
  const [verb, lineOaId, ...rest] = positionals;
  const how = RESUME_HOW.find((known) => known === values.how);
  const id = lineOaId ?? values.organization ?? '';
  const isOneTarget = (lineOaId === undefined) !== (values.organization === undefined);
  if ((verb !== 'stop' && verb !== 'resume') || rest.length > 0 || !isOneTarget || !ID.test(id)) throw usage();
  if (verb === 'resume' ? how === undefined : values.how !== undefined) throw usage();
  const target = lineOaId === undefined ? { organizationId: id } : { lineOaId: id };
  return { verb, target, by: values.by ?? user, reason: values.reason ?? null, how, json: values.json ?? false };
}

const usage = (cause?: unknown) => new UsageError(USAGE, { cause });

function parseWords(words: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: { organization: text, by: text, reason: text, how: text, json: { type: 'boolean' } },
    });
  } catch (cause) {
    throw usage(cause);
  }
}

/** Creates, stops, resumes, pauses or unpauses an account, or stops and resumes an organization, and prints what was done. */
export async function runAccount(
  words: readonly string[],
  { env, print, login, readSecret = noSecret }: AccountDeps,
): Promise<void> {
  if (words.length === 0 || words[0] === 'help' || words.includes('--help') || words.includes('-h')) {
    print(USAGE);
    return;
  }
  const config = loadAccountConfig(env);
  const pauseDeps = { print, readSecret, secretsKey: config.SECRETS_KEY };
  const work = workOf(words, { login, print, pauseDeps });
  const { db, close } = openDatabase({
    url: config.DATABASE_URL,
    applicationName: 'ops',
    maxConnections: 1,
    onError: () => undefined, // the statement in hand throws
  });
  try {
    await work(db);
  } finally {
    await close();
  }
}

/** What was typed. @throws UsageError */
function workOf(
  words: readonly string[],
  { login: user, print, pauseDeps }: Pick<AccountDeps, 'login' | 'print'> & { readonly pauseDeps: PauseDeps },
): (db: Db) => Promise<void> {
  if (words[0] === 'create') {
    const command = parseCreateCommand(words, { user });
    return (db) => runCreate(db, command, print);
  }
  return isPauseVerb(words[0])
    ? pauseWork(parsePauseCommand(words, { user }), pauseDeps)
    : stopWork(parseAccountCommand(words, { user }), print);
}

const pauseWork = (command: ReturnType<typeof parsePauseCommand>, deps: PauseDeps) => (db: Db) =>
  runPause(db, command, deps);

const stopWork = (command: AccountCommand, print: AccountDeps['print']) => async (db: Db) => {
  const { verb, target, how } = command;
  const count = how === undefined ? await stop(db, command) : await resume(db, { ...command, how });
  const done = { command: verb, ...target, ...(how && { how, actions: count }) };
  print(command.json ? JSON.stringify(done) : textOf(command, count));
};

function textOf({ target, how }: AccountCommand, count: number): string {
  const name = 'lineOaId' in target ? `account ${target.lineOaId}` : `organization ${target.organizationId}`;
  const actions = `${count.toLocaleString('en')} ${count === 1 ? 'action was' : 'actions were'}`;
  switch (how) {
    case undefined:
      return `${name}: stopped; nothing of it starts until it is resumed`;
    case 'catch_up':
      return `${name}: resumed (${how}); what was held up is due now`;
    case 'skip':
      return `${name}: resumed (${how}); ${actions} cancelled`;
    case 'spread':
      return `${name}: resumed (${how}); ${actions} given a later time`;
  }
}

async function stop(db: Db, { target, by, reason }: AccountCommand): Promise<number> {
  await inTransaction(db, (tx) => stopAccount(tx, target, { by, reason }));
  return 0;
}

/** Arranges what was held up while nothing is claimed yet, then lets go. */
async function resume(
  db: Db,
  { target, by, reason, how }: Pick<AccountCommand, 'target' | 'by' | 'reason'> & { readonly how: ResumeHow },
): Promise<number> {
  const held = await inTransaction(db, (tx) => getStop(tx, target));
  const steps = { catch_up: async () => 0, skip, spread: spreadHeldUp };
  let count = 0;
  for (const tenant of held.tenants) {
    const step = () => inTransaction(db, (tx) => steps[how](tx, tenant, held));
    for (let moved = await step(); moved > 0; moved = await step()) count += moved;
  }
  await inTransaction(db, async (tx) => {
    await resumeAccount(tx, target, { by, reason, how, count });
    await wakeDue(tx);
  });
  for (const tenant of held.tenants) await wakeDeliveries(db, tenant);
  return count;
}

async function skip(tx: Tx, tenant: Tenant, { until }: { until: string }): Promise<number> {
  const skipped = await skipHeldUp(tx, tenant, { until });
  await recordCancelled(tx, skipped, 'skipped_while_stopped');
  return skipped.length;
}

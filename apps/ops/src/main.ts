import { userInfo } from 'node:os';
import { text } from 'node:stream/consumers';
import { PermanentError } from '@dueline/kernel';
import { ConfigError, createLog, safeErrorText } from '@dueline/runtime';
import { runAccount } from './account.ts';
import { UsageError } from './actions/command-line.ts';
import { runActions } from './actions/run.ts';
import { runAttention } from './attention.ts';
import { runAudit } from './audit.ts';
import { runCampaigns } from './campaigns/run.ts';
import { runCycles } from './cycles.ts';
import { runDeliveries } from './deliveries.ts';
import { runDryRun } from './dry-run.ts';
import { runEvents } from './events.ts';
import { runExplain } from './explain.ts';
import { runHistory, runTimeline } from './history/index.ts';
import { applyLogins } from './logins.ts';
import { runMenus } from './menus.ts';
import { runMigrate } from './migrate.ts';
import { applyRoles, checkRoles, printRoles } from './roles.ts';
import { runRules } from './rules/index.ts';
import { applyTopology, checkTopology, grantPermissions, printPermissions } from './topology.ts';
import { shortened } from './typed.ts';

const HELP = `usage: dueline <command>

  migrate            bring the database to this version's schema (DATABASE_URL)
  roles              give each app's database role its rights, and no others; migrate does it too (DATABASE_URL, the owner)
  roles --check      say what roles lack or have too many; exit 1 if anything
  roles --sql        what an administrator runs once where the owner may not make roles
  topology           declare exchanges, queues and policies (AMQP_URL, AMQP_MANAGEMENT_URL)
  topology --check   say what the broker lacks or has differently; exit 1 if anything
  topology --permissions          give the broker's users, called as the apps are, what their apps do, and no more
  topology --permissions --json   print the same as a definitions file
  logins             make each app's login at database and broker what its URL says, with the app's rights (PG_LISTENER_DATABASE_URL, …)
  account            stop, resume, pause or unpause an account, or store its token; \`dueline account\` says how (DATABASE_URL)
  audit [--json]     check what must always be true of the data; exit 1 if anything is not (DATABASE_URL)
  actions …          see and change waiting work; 'actions --help' says how (DATABASE_URL)
  attention …        see and dismiss what needs a person; 'attention --help' says how (DATABASE_URL)
  campaigns …        see and change campaigns; 'campaigns --help' says how (DATABASE_URL)
  cycles …           see, run, pause or cancel cycles of time-based rules; 'cycles --help' says how (DATABASE_URL)
  deliveries …       send a message again, or leave it alone, when nobody knows; 'deliveries --help' says how (DATABASE_URL)
  history …          what was decided under a rule or about a person; 'history --help' says how (DATABASE_URL)
  dry-run …          what a rule would have done with what happened; 'dry-run --help' says how (DATABASE_URL)
  explain …          why a rule fired for a person, or why it did not; 'explain --help' says how (DATABASE_URL)
  events …           decide what happened once more, or what was given up; 'events --help' says how (DATABASE_URL)
  menus …            register the rich menus that rules switch to; 'menus --help' says how (DATABASE_URL)
  rules …            author, publish and look at rules, from files; 'rules --help' says how (DATABASE_URL)
  timeline …         a person's past and what is to come; 'timeline --help' says how (DATABASE_URL)
`;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const log = createLog({ service: 'ops', level: 'warn', instance: 'cli' });
const { env } = process;

const COMMANDS: Readonly<Record<string, () => Promise<void>>> = {
  migrate: () => runMigrate(env, print),
  audit: () => runAudit({ env, print, json: false }),
  'audit --json': () => runAudit({ env, print, json: true }),
  roles: () => applyRoles(env, print),
  'roles --check': () => checkRoles(env, print),
  'roles --sql': async () => printRoles(env, print),
  logins: () => applyLogins(env, print),
  topology: () => applyTopology({ env, print, log }),
  'topology --check': () => checkTopology({ env, print, log }),
  'topology --permissions': () => grantPermissions({ env, print }),
  'topology --permissions --json': async () => printPermissions({ env, print }),
};

/** The login name, for the audit trail; a container may have none. */
function login(): string {
  try {
    return userInfo().username;
  } catch (error) {
    log.debug({ err: error }, 'nobody is logged in');
    return 'cli';
  }
}

const printError = (line: string) => process.stderr.write(`${line}\n`);
const asPerson = (run: typeof runActions) => async () => {
  process.exitCode = await run({ env, print, printError, login: login() }, rest);
};

const [first, ...rest] = process.argv.slice(2);
const words = process.argv.slice(2).join(' ');
const WITH_ARGUMENTS: Readonly<Record<string, () => Promise<void>>> = {
  actions: asPerson(runActions),
  campaigns: asPerson(runCampaigns),
  attention: asPerson(runAttention),
  cycles: asPerson(runCycles),
  deliveries: asPerson(runDeliveries),
  history: asPerson(runHistory),
  'dry-run': asPerson(runDryRun),
  explain: asPerson(runExplain),
  events: asPerson(runEvents),
  menus: asPerson(runMenus),
  rules: asPerson(runRules),
  timeline: asPerson(runTimeline),
  account: () => runAccount(rest, { env, print, login: login(), readSecret: () => text(process.stdin) }),
};
const command = WITH_ARGUMENTS[first ?? ''] ?? COMMANDS[words];
if (command === undefined) {
  process.stderr.write(
    words === '' || words === 'help' ? HELP : `unknown command: ${shortened(words, [words])}\n\n${HELP}`,
  );
  process.exitCode = words === '' || words === 'help' ? 0 : 2;
} else {
  try {
    await command();
  } catch (error) {
    const isMeantForPeople = [ConfigError, PermanentError, UsageError].some((kind) => error instanceof kind);
    printError(isMeantForPeople && error instanceof Error ? shortened(error.message, rest) : safeErrorText(error));
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

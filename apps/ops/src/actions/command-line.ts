import { parseArgs } from 'node:util';
import { ID } from '../id.ts';

/** What was typed does not fit; the message says what, and the help says what would. */
export class UsageError extends Error {}

type Option = { readonly type: 'string' | 'boolean'; readonly multiple?: true; readonly short?: string };

/** Every option, with what the help says of it. */
const OPTIONS = {
  rule: ['<id>', 'of this rule'],
  user: ['<LINE user id>', 'of this person'],
  status: ['<status,…>', 'pending, processing, done, failed, cancelled'],
  'due-from': ['<time>', 'due then or later'],
  'due-before': ['<time>', 'due before'],
  type: ['<action type>', 'send_message'],
  workflow: ['<id>', 'of this workflow'],
  lane: ['<0|1|2>', '0 at once, 1 normal, 2 bulk'],
  contains: ['<text>', 'whose messages say this'],
  limit: ['<n>', 'rows of a page, 20 if not given'],
  after: ['<page>', 'the page that the list before named'],
  at: ['<time>', 'due then (edit, uncancel, revive)'],
  text: ['<text>', 'the new message; repeat it for several (edit, uncancel, revive)'],
  for: ['<duration>', 'so much later: 90s, 15m, 2h, 3d, 1w, 1h30m (postpone)'],
  to: ['<time>', 'due then (postpone)'],
  'accept-duplicates': ['', 'although a message of it may have arrived (uncancel, revive)'],
  fence: ['<n>', 'only if it is still what you saw'],
  confirm: ['<token>', 'do what the preview showed'],
  account: ['<id>', 'the LINE account; needed when there are several'],
  by: ['<name>', 'who does it, for the audit trail; your login if not given'],
  why: ['<reason>', 'why, for the audit trail'],
  json: ['', 'one JSON object instead of text'],
} as const;
type OptionName = keyof typeof OPTIONS;

const FILTER = ['rule', 'user', 'status', 'due-from', 'due-before', 'type', 'workflow', 'lane', 'contains'] as const;
const CHANGE = [...FILTER, 'fence', 'confirm', 'account', 'by', 'why', 'json'] as const;
const ANEW = ['at', 'text', 'accept-duplicates', ...CHANGE] as const;

/** The commands, with the options that each takes. */
const COMMANDS = {
  list: {
    about: 'what waits, is being decided, or ended; the earliest due first',
    options: [...FILTER, 'limit', 'after', 'account', 'json'],
  },
  show: {
    about: 'one action: what it waits for, who changed it, what became of its message',
    options: ['account', 'json'],
  },
  edit: { about: 'another time (--at), other messages (--text), or both', options: ['at', 'text', ...CHANGE] },
  postpone: { about: 'later (--for), or at a time (--to)', options: ['for', 'to', ...CHANGE] },
  fire: { about: 'now, ahead of others', options: CHANGE },
  cancel: { about: 'never; of what is done, the message, while it has not left', options: CHANGE },
  uncancel: { about: 'what was cancelled waits again', options: ANEW },
  revive: { about: 'what failed is tried again', options: ANEW },
} as const satisfies Record<string, { about: string; options: readonly OptionName[] }>;
type CommandName = keyof typeof COMMANDS;

/** What was typed, as text. */
export interface CommandLine {
  readonly command: CommandName;
  readonly id: string | undefined;
  readonly values: Readonly<Partial<Record<OptionName, string | undefined>>>;
  readonly texts: readonly string[];
  readonly json: boolean;
  readonly acceptDuplicates: boolean;
}

const optionOf = (name: OptionName): Option => {
  if (OPTIONS[name][0] === '') return { type: 'boolean' };
  return name === 'text' ? { type: 'string', multiple: true } : { type: 'string' };
};

const isCommand = (word: string): word is CommandName => Object.hasOwn(COMMANDS, word);

/** Reads a command line; 'help' when that is asked for. @throws UsageError when it does not fit. */
export function readCommandLine(args: readonly string[]): CommandLine | 'help' {
  const [command, ...rest] = args;
  if (command === undefined || command === 'help' || args.includes('--help') || args.includes('-h')) return 'help';
  if (!isCommand(command)) throw new UsageError(`there is no command ${command}`);
  const { values, positionals } = parse(command, rest);
  const [id, ...others] = positionals;
  if (others.length > 0) throw new UsageError(`one id at a time; for many, name them by a filter`);
  if (id !== undefined && !ID.test(id)) throw new UsageError(`${id} is not the id of an action`);
  if (command === 'show' && id === undefined) throw new UsageError('show needs the id of an action');
  if (command === 'list' && id !== undefined) throw new UsageError(`list takes a filter; for one action: show ${id}`);
  const { text, json, 'accept-duplicates': acceptDuplicates, ...named } = values;
  return {
    command,
    id,
    values: named,
    texts: text === undefined ? [] : [text].flat().map(String),
    json: json === true,
    acceptDuplicates: acceptDuplicates === true,
  };
}

type Values = Partial<Record<OptionName, string & string[] & boolean>>;

function parse(command: CommandName, args: readonly string[]) {
  const options = Object.fromEntries(COMMANDS[command].options.map((name) => [name, optionOf(name)]));
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { values: values as Values, positionals };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`${command}: ${error.message.split('. ')[0]}`);
  }
}

const line = (left: string, right: string) => `  ${left.padEnd(28)}${right}`;
const optionLines = (names: readonly OptionName[]) =>
  names.map((name) => line(`--${name} ${OPTIONS[name][0]}`.trimEnd(), OPTIONS[name][1])).join('\n');

export const HELP = `usage: dueline actions <command> [<id>] [options]

${Object.entries(COMMANDS)
  .map(([name, { about }]) => line(name === 'list' ? name : name === 'show' ? 'show <id>' : `${name} [<id>]`, about))
  .join('\n')}

With an id, one action is changed. Without, all that the filter names: first you see what would change and get a token, then the same
command with --confirm <token> does it, to exactly what you saw. Times are like 2026-03-01T10:00 (of the account) or
2026-03-01T10:00+09:00.

which actions
${optionLines(FILTER)}

a list
${optionLines(['limit', 'after'])}

a change
${optionLines(['at', 'text', 'for', 'to', 'accept-duplicates', 'fence', 'confirm', 'by', 'why'])}

always
${optionLines(['account', 'json'])}

exit code: 0 done, 1 not or not all of it done, 2 not understood.
examples:
  dueline actions list --status failed
  dueline actions postpone 4711 --for 2h --why 'shop opens late'
  dueline actions cancel --rule 12 --due-before 2026-03-01T18:00
`;

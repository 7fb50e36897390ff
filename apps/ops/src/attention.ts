import type { AccountName } from '@dueline/accounts';
import { type AttentionItem, closeAttention, listAttention } from '@dueline/attention';
import { inTenant } from '@dueline/db';
import { UsageError } from './actions/command-line.ts';
import { oneLine, tableOf, timeIn } from './actions/table.ts';
import { ID } from './id.ts';
import { type PersonDeps, type parseWords, runForPerson, type Work } from './person-command.ts';

const ATTENTION_HELP = `usage: dueline attention list            [--status open|resolved|dismissed] [--limit <n>] [--after <id>]
       dueline attention dismiss <id> …  --why <reason> [--by <name>]
both:  [--account <id>] [--json]

What ended otherwise than it should, and needs a person. An action that failed is brought back with \`dueline actions revive <id>\`, which
closes its item; an item is dismissed when what it tells of stays as it is.

exit code: 0 done, 1 not or not all of it done, 2 not understood.`;

const STATUSES = ['open', 'resolved', 'dismissed'] as const;
const ROWS_OF_A_PAGE = 20;
const MAX_PAGE = 500;

const OPTIONS = ['status', 'limit', 'after', 'by', 'why'] as const;
type Words = ReturnType<typeof parseWords<(typeof OPTIONS)[number]>>;

/** Runs `dueline attention …` and returns its exit code: 0 done, 1 not or not all of it done, 2 not understood. */
export const runAttention = (deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> =>
  runForPerson(deps, args, {
    name: 'attention',
    help: ATTENTION_HELP,
    options: OPTIONS,
    workOf: (words) => workOf(words, deps.login),
  });

/** Reads what was typed before the database is asked. */
function workOf({ values, positionals }: Words, login: string): Work {
  const [command, ...ids] = positionals;
  const wrong = ids.find((id) => !ID.test(id));
  if (wrong !== undefined) throw new UsageError(`${wrong} is not the id of an item`);
  if (command === 'list') return listWork(values, ids);
  if (command !== 'dismiss') throw new UsageError(`there is no command ${command ?? ''}`.trimEnd());
  if (ids.length === 0) throw new UsageError('dismiss needs the id of an item');
  if (values.why === undefined) throw new UsageError('dismiss needs --why <reason>');
  if (values.status !== undefined || values.limit !== undefined || values.after !== undefined)
    throw new UsageError('--status, --limit and --after belong to list');
  return dismissWork(ids, { closedBy: values.by ?? login, resolution: values.why });
}

function listWork(values: Words['values'], ids: readonly string[]): Work {
  const { status: word = 'open', limit = String(ROWS_OF_A_PAGE), after = '0' } = values;
  const status = STATUSES.find((known) => known === word);
  if (status === undefined) throw new UsageError(`--status ${word}: open, resolved or dismissed`);
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MAX_PAGE)
    throw new UsageError(`--limit ${limit}: a number from 1 to ${MAX_PAGE}`);
  if (after !== '0' && !ID.test(after)) throw new UsageError(`--after ${after}: the id of an item`);
  if (ids.length > 0 || values.by !== undefined || values.why !== undefined)
    throw new UsageError('list takes --status, --limit and --after');
  return async (db, account) => {
    const found = await listAttention(db, account, { status, after, limit: Number(limit) + 1 });
    const items = found.slice(0, Number(limit));
    const next = found.length > items.length ? (items.at(-1)?.id ?? null) : null;
    return { json: { items, next }, lines: pageLines(account, { status, items, next }), isWhole: true };
  };
}

const dismissWork =
  (ids: readonly string[], by: { closedBy: string; resolution: string }): Work =>
  async (db, account) => {
    const dismissed = await inTenant(db, account, (tx) =>
      closeAttention(tx, account, { ids, status: 'dismissed', ...by }),
    );
    const left = ids.filter((id) => !dismissed.includes(id));
    const lines = [
      ...dismissed.map((id) => `item ${id}: dismissed`),
      ...left.map((id) => `item ${id}: no open item of account ${account.lineOaId} has this id`),
    ];
    return { json: { dismissed, left }, lines, isWhole: left.length === 0 };
  };

const WHAT: Readonly<Record<AttentionItem['kind'], string>> = {
  action_failed: 'action',
  event_dead: 'event',
  delivery_unknown: 'delivery',
  rule_failed: 'rule',
  rule_loops: 'rule',
  delivery_refused: 'delivery',
  account_paused: 'account',
  possible_platform_loss: 'account and day',
  campaign_not_sent: 'campaign',
};

const detailOf = ({ detail, closedBy, resolution }: AttentionItem): string => {
  if (closedBy !== null) return `${oneLine(closedBy, 30)}: ${oneLine(resolution ?? '', 60)}`;
  const known = Object.entries((detail ?? {}) as Record<string, unknown>);
  return oneLine(known.map(([name, value]) => `${name} ${String(value)}`).join(', '), 60);
};

function pageLines(
  account: AccountName,
  { status, items, next }: { status: string; items: readonly AttentionItem[]; next: string | null },
): string[] {
  const name = `account ${account.lineOaId} ${oneLine(account.name, 40)}`;
  if (items.length === 0) return [`nothing ${status} in ${name}`];
  const rows = items.map((item) => [
    ...[item.id, `${WHAT[item.kind]} ${item.refId}`, item.reasonCode, item.userId ?? '-'],
    ...[timeIn(account.timezone, item.openedAt), detailOf(item)],
  ]);
  return [
    `${name}, times of ${account.timezone} (and UTC)`,
    '',
    ...tableOf(['id', 'of', 'reason', 'person', 'since', status === 'open' ? 'detail' : 'closed by'], rows),
    ...(next === null ? [] : ['', `more: repeat it with --after ${next}`]),
  ];
}

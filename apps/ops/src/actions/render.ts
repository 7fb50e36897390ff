import type { AccountName } from '@dueline/accounts';
import {
  type ActionDetail,
  type ActionOperation,
  type ActionPage,
  type ActionView,
  type OperationOutcome,
  type OperationPreview,
  type OperationReport,
  REFUSALS,
  type Refusal,
} from '@dueline/scheduled-actions';
import { oneLine, tableOf, timeIn } from './table.ts';

const LANES = ['at once', 'normal', 'bulk'];
const shortUser = (userId: string): string => `${userId.slice(0, 5)}…${userId.slice(-4)}`;
/** What an action is about: the text of its messages, or the names and values of its parameters. */
const partsOf = (config: ActionView['actionConfig']): string[] =>
  'messages' in config
    ? config.messages.map(({ text }) => text)
    : Object.entries(config).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
const textOf = (config: ActionView['actionConfig'], width: number): string =>
  oneLine(partsOf(config).join(' ⏎ '), width);
const contentOf = ({ actionType, actionConfig }: ActionView): string =>
  'messages' in actionConfig ? textOf(actionConfig, 40) : oneLine(`${actionType} ${textOf(actionConfig, 40)}`, 40);
const ruleOf = ({ triggerRuleId, ruleName }: { triggerRuleId: string | null; ruleName: string | null }): string =>
  triggerRuleId === null ? '-' : `${triggerRuleId} ${oneLine(ruleName ?? '', 24)}`.trim();
const count = (n: number): string => `${n.toLocaleString('en')} action${n === 1 ? '' : 's'}`;

/** The status in a word or two: of a wait that it waits, of what is done what became of its message. */
function statusOf({ status, expiresAt, branch, delivery, cancelReason, retryCount }: ActionView): string {
  if (status === 'pending' && expiresAt !== null && branch === null) return 'waiting';
  if (status === 'pending' && branch !== null) return `pending: ${branch}`;
  if (status === 'pending' && retryCount > 0) return `pending, retry ${retryCount}`;
  if (status === 'done' && delivery !== null) return `done, ${delivery}`;
  if (status === 'cancelled') return `cancelled: ${cancelReason}`;
  return status;
}

const zoneLine = ({ lineOaId, name, timezone }: AccountName): string =>
  `account ${lineOaId} ${oneLine(name, 40)}, times of ${timezone} (and UTC)`;

/** A page of actions, and how to see the next. */
export function pageLines(account: AccountName, { actions, next }: ActionPage): string[] {
  if (actions.length === 0)
    return [`no action of account ${account.lineOaId} ${oneLine(account.name, 40)} is like that`];
  const rows = actions.map((action) => [
    ...[action.id, statusOf(action), timeIn(account.timezone, action.executeAt), LANES[action.lane] ?? ''],
    ...[ruleOf(action), shortUser(action.userId), contentOf(action)],
  ]);
  const more = next === null ? [] : ['', `more: repeat it with --after ${next}`];
  return [
    zoneLine(account),
    '',
    ...tableOf(['id', 'status', 'due', 'lane', 'rule', 'person', 'content'], rows),
    ...more,
  ];
}

/** One action whole. */
export function detailLines(account: AccountName, action: ActionDetail): string[] {
  const time = (instant: string | null) => timeIn(account.timezone, instant);
  const facts: [string, string | null][] = [
    ['status', statusOf(action)],
    ['due', time(action.executeAt)],
    ['meant for', action.dueAt === action.executeAt ? null : time(action.dueAt)],
    ['waits until', action.expiresAt === null ? null : time(action.expiresAt)],
    [
      'waits for',
      action.waits.map(({ source, refId, branch }) => `${source} ${refId ?? '(any)'} → ${branch}`).join(', ') || null,
    ],
    ['went', action.branch],
    ['ended', action.executedAt === null ? null : time(action.executedAt)],
    ['person', action.userId],
    ['rule', action.triggerRuleId === null ? null : `${ruleOf(action)}, version ${action.ruleVersion ?? '?'}`],
    ['lane', LANES[action.lane] ?? null],
    ['action', action.actionType],
    ...partsOf(action.actionConfig).map((part): [string, string] => ['content', oneLine(part, 100)]),
    ['retries', action.retryCount === 0 ? null : String(action.retryCount)],
    ['last error', action.lastError === null ? null : oneLine(action.lastError, 200)],
    ['made', time(action.createdAt)],
    ['fence', action.gen === 0 ? action.fence : `${action.fence}, run anew ${action.gen} times`],
  ];
  return [
    `action ${action.id} of ${zoneLine(account)}`,
    '',
    ...facts.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(12)}${value}`])),
    ...section(
      'messages',
      ['delivery', 'status', 'attempts', 'accepted', 'reason', 'LINE request'],
      action.deliveries.map((delivery) => [
        ...[delivery.id, delivery.status, String(delivery.attempts), time(delivery.acceptedAt)],
        ...[delivery.reasonCode ?? '-', delivery.lineRequestId ?? '-'],
      ]),
    ),
    ...changeLines(account, action.edits),
  ];
}

const section = (title: string, head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  rows.length === 0 ? [] : ['', `${title}:`, ...tableOf(head, rows).map((row) => `  ${row}`)];

/** What is told of a change; the rest of the trail is in the JSON. */
const TRACED: Readonly<Record<string, string>> = {
  status: 'status',
  executeAt: 'due',
  lane: 'lane',
  delivery: 'message',
  actionConfig: 'content',
};

function changeLines({ timezone }: AccountName, edits: ActionDetail['edits']): string[] {
  const told = (name: string, value: unknown): string => {
    if (name === 'executeAt' && typeof value === 'string') return timeIn(timezone, value);
    if (name === 'actionConfig') return textOf(value as ActionView['actionConfig'], 60);
    return oneLine(String(value), 60);
  };
  const lines = edits.flatMap(({ at, operation, by, why, before, after }) => [
    `  ${timeIn(timezone, at)}  ${operation} by ${oneLine(by, 40)}${why === null ? '' : `: ${oneLine(why, 80)}`}`,
    ...Object.entries(TRACED).flatMap(([name, title]) =>
      name in after ? [`    ${title.padEnd(8)}  ${told(name, before[name])} → ${told(name, after[name])}`] : [],
    ),
  ]);
  return lines.length === 0 ? [] : ['', 'changes:', ...lines];
}

const reasons = (refused: Readonly<Partial<Record<Refusal, number>>>): string[] =>
  Object.entries(refused).map(
    ([reason, times]) => `  ${times.toLocaleString('en').padStart(9)}  ${reason}: ${REFUSALS[reason as Refusal]}`,
  );

const VERBS: Readonly<Record<ActionOperation['kind'], string>> = {
  edit: 'edit',
  postpone: 'postpone',
  fire_now: 'fire',
  cancel: 'cancel',
  uncancel: 'uncancel',
  revive: 'revive',
};

const textsOf = (operation: ActionOperation): string[] =>
  'messages' in operation ? (operation.messages ?? []).map(({ text }) => text) : [];

/** What would change, and the command that does it. */
export function previewLines(account: AccountName, preview: OperationPreview): string[] {
  const { operation, matched, moves, beingDecided, beingSent, refused, samples, token, confirmUntil } = preview;
  const verb = VERBS[operation.kind];
  const rows = samples.map(({ id, userId, ruleName, executeAt, nextExecuteAt }) => [
    ...[id, shortUser(userId), oneLine(ruleName ?? '-', 24), timeIn(account.timezone, executeAt)],
    operation.kind === 'cancel' ? 'never' : timeIn(account.timezone, nextExecuteAt),
  ]);
  const left = matched - moves;
  return [
    `${verb}: ${moves.toLocaleString('en')} of ${count(matched)} would change. Nothing has changed yet.`,
    ...(beingDecided === 0
      ? []
      : [`Taken up by a worker, so that they may be decided first: ${beingDecided.toLocaleString('en')} of these.`]),
    ...(beingSent === 0 ? [] : [`Done, with the message on its way: ${beingSent.toLocaleString('en')} more.`]),
    ...(left === 0 ? [] : [`Would stay as they are: ${left.toLocaleString('en')}.`, ...reasons(refused)]),
    ...textsOf(operation).map((text) => `New text: ${oneLine(text, 100)}`),
    ...(rows.length === 0
      ? []
      : ['', zoneLine(account), '', ...tableOf(['id', 'person', 'rule', 'due', 'then'], rows)]),
    ...(moves > rows.length ? [`… and ${(moves - rows.length).toLocaleString('en')} more`] : []),
    ...(token === null
      ? []
      : [
          '',
          `to do exactly this, until ${timeIn(account.timezone, confirmUntil)}:`,
          `  ./dueline actions ${verb} --account ${account.lineOaId} --confirm ${token}`,
        ]),
  ];
}

/** What a confirmed operation did. */
export function reportLines({
  kind,
  changed,
  deliveriesCancelled,
  refused,
  refusedSamples,
}: OperationReport): string[] {
  const left = Object.values(refused).reduce((sum, times) => sum + times, 0);
  const some = refusedSamples.slice(0, 5).map(({ id }) => id);
  return [
    `${VERBS[kind]}: ${count(changed)} changed.`,
    ...(deliveriesCancelled === 0
      ? []
      : [`Done already, with the message stopped: ${deliveriesCancelled.toLocaleString('en')}.`]),
    ...(left === 0
      ? []
      : [
          `Left as they are: ${left.toLocaleString('en')} (${some.join(', ')}${left > some.length ? ', …' : ''}).`,
          ...reasons(refused),
        ]),
  ];
}

/** What became of one action, and how it stands now. */
export function outcomeLine(account: AccountName, outcome: OperationOutcome, now: ActionView | undefined): string {
  switch (outcome.result) {
    case 'changed': {
      const due = now?.status === 'pending' ? `, due ${timeIn(account.timezone, now.executeAt)}` : '';
      return `action ${outcome.id}: ${now === undefined ? 'changed' : statusOf(now)}${due}`;
    }
    case 'delivery_cancelled':
      return `action ${outcome.id}: it was done already; what had not left of its messages will not be sent`;
    case 'refused':
      return `action ${outcome.id}: ${outcome.refusal}: ${REFUSALS[outcome.refusal]}`;
  }
}

import type { AccountName } from '@dueline/accounts';
import type { HistoryEntry, HistoryPage, PastEntry, Timeline, UpcomingEntry } from '@dueline/history';
import { columnsOf, oneLine, tableOf, timeIn } from '../actions/table.ts';

const WIDTH = 60;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const text = (value: unknown): string => (value === undefined ? 'nothing' : (JSON.stringify(value) ?? ''));

/** What an action says or does: the text of its messages, or its parameters. */
function contentOf(actionType: string | null, actionConfig: unknown): string {
  if (actionType === null || !isObject(actionConfig)) return '';
  const { messages, delay: _, ...rest } = actionConfig;
  if (Array.isArray(messages))
    return oneLine(messages.map((message) => `“${isObject(message) ? message.text : ''}”`).join(' '), WIDTH);
  const parts = Object.entries(rest).map(([name, value]) => `${name} ${text(value)}`);
  return oneLine([actionType.replaceAll('_', ' '), ...parts].join(' '), WIDTH);
}

const ruleOf = ({ triggerRuleId, ruleName }: { triggerRuleId: string | null; ruleName: string | null }): string =>
  triggerRuleId === null ? '' : oneLine(`${triggerRuleId} ${ruleName ?? ''}`, 32);

type EventEntry = Extract<PastEntry, { kind: 'event' }>;

/** What somebody did, or what changed about them, by the payload of its topic. */
const WHAT_HAPPENED: Readonly<Record<string, (event: EventEntry) => string>> = {
  attribute_changed: ({ payload: { changed } }) =>
    Object.entries(isObject(changed) ? changed : {})
      .map(([name, change]) => (isObject(change) ? `${name} ${text(change.from)} → ${text(change.to)}` : name))
      .join(', '),
  campaign_click: ({ payload, linkName }) =>
    `${payload.is_robot === 'true' ? 'a robot looked at' : 'clicked'} link ${payload.tracked_link_id} ${linkName ?? ''}`,
  form_submitted: ({ payload }) => `sent form ${payload.form_id}`,
  friend_track_event_inserted: ({ payload }) =>
    payload.type === 'unfollow' ? 'follows no more' : payload.is_unblocked === 'true' ? 'follows again' : 'follows',
  booking_event: ({ payload }) => `booking ${payload.booking_id} ${payload.type}`,
  custom_event: ({ payload }) => `event ${payload.name}`,
};

const happened = (event: EventEntry): string =>
  oneLine((WHAT_HAPPENED[event.topic] ?? (() => event.topic))(event), 2 * WIDTH);

type Cells = readonly [when: string, what: string, rule: string, said: string];

function pastLines(zone: string, entry: PastEntry): Cells[] {
  const when = timeIn(zone, entry.at);
  switch (entry.kind) {
    case 'event':
      return [[when, '·', '', happened(entry)]];
    case 'decision': {
      const content = contentOf(entry.actionType, entry.actionConfig);
      const why =
        entry.errorMessage === null ? entry.reasonCode : `${entry.reasonCode}: ${oneLine(entry.errorMessage, WIDTH)}`;
      const said = content === '' ? why : `${why}, ${content}`;
      return [[when, entry.decision, ruleOf(entry), said], ...entry.sent.map((sent) => sentLine(zone, sent))];
    }
    case 'campaign':
      return [
        [when, 'campaign', oneLine(`${entry.campaignId} ${entry.name}`, 32), entry.status],
        ...entry.sent.map((sent) => sentLine(zone, sent)),
      ];
  }
}

type Sent = Extract<PastEntry, { kind: 'campaign' }>['sent'][number];

function sentLine(
  zone: string,
  { endpoint, status, reasonCode, acceptedAt, nextAttemptAt, lineRequestId }: Sent,
): Cells {
  const parts = [
    reasonCode,
    acceptedAt && `at ${timeIn(zone, acceptedAt)}`,
    nextAttemptAt && `next ${timeIn(zone, nextAttemptAt)}`,
    lineRequestId && `LINE request ${oneLine(lineRequestId, 40)}`,
  ];
  return ['', `→ ${status}`, endpoint, parts.filter((part) => typeof part === 'string' && part !== '').join(', ')];
}

function upcomingLine(zone: string, entry: UpcomingEntry): Cells {
  const when = entry.at === null ? 'when it happens' : timeIn(zone, entry.at);
  switch (entry.kind) {
    case 'cycle':
      return [when, 'cycle', ruleOf(entry), entry.asks ? 'if they match then' : ''];
    case 'campaign':
      return [when, 'campaign', oneLine(`${entry.campaignId} ${entry.name}`, 32), 'they are in its audience now'];
    case 'action': {
      const waits = entry.waitsFor.map(({ source, refId, branch }) => `${source} ${refId ?? '(any)'} → ${branch}`);
      const content = contentOf(entry.actionType, entry.actionConfig);
      const said = waits.length === 0 ? content : `waits for ${waits.join(', ')}; ${content}`;
      return [when, `action ${entry.id}`, ruleOf(entry), said];
    }
  }
}

const indented = (rows: readonly Cells[]): string[] => columnsOf(rows, []).map((line) => `  ${line}`);

/** A person's life with an account: who, what is to come, what was. */
export function timelineLines(account: AccountName, { userId, person, upcoming, past, next }: Timeline): string[] {
  const { timezone } = account;
  const name = person?.displayName ?? null;
  const who = person === null ? 'not known to the account' : person.isFollowing ? 'follows' : 'does not follow';
  const named = name === null ? who : `${oneLine(name, 40)}, ${who}`;
  const section = (title: string, rows: readonly Cells[], none: string) =>
    rows.length === 0 ? ['', none] : ['', title, ...indented(rows)];
  return [
    `${userId}  ${named}`,
    `account ${account.lineOaId} ${oneLine(account.name, 40)}, times of ${timezone} (and UTC)`,
    ...section(
      'to come',
      upcoming.map((entry) => upcomingLine(timezone, entry)),
      'nothing is to come',
    ),
    ...section(
      'so far, the newest first',
      past.flatMap((entry) => pastLines(timezone, entry)),
      'nothing happened',
    ),
    ...moreLines(next),
  ];
}

const moreLines = (next: string | null): string[] =>
  next === null ? [] : ['', `more: repeat it with --after ${next}`];

/** Whom a row is about; of a flood that a rule did not match how many. */
const whoOf = ({ userId, evaluations }: HistoryEntry): string =>
  userId === null ? `${evaluations.toLocaleString('en')} evaluations` : `${userId.slice(0, 5)}…${userId.slice(-4)}`;

/** A page of decisions. */
export function historyLines({ timezone }: AccountName, { entries, next }: HistoryPage): string[] {
  if (entries.length === 0) return ['nothing was decided'];
  const rows = entries.map((entry) => [
    ...[entry.id, timeIn(timezone, entry.at), entry.decision, entry.reasonCode, ruleOf(entry), whoOf(entry)],
    contentOf(entry.actionType, entry.actionConfig),
  ]);
  return [...tableOf(['id', 'at', 'decision', 'why', 'rule', 'person', 'action'], rows), ...moreLines(next)];
}

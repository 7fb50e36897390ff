import type { Compared, DryRun, RunOfRule, Sample } from '@dueline/explain';
import { columnsOf, oneLine, tableOf, timeIn } from './actions/table.ts';

/** Columns of the longest bar. */
const BAR = 24;
const WIDTH = 110;
const count = (number: number): string => number.toLocaleString('en');
const many = (number: number, one: string, more: string): string => `${count(number)} ${number === 1 ? one : more}`;
const people = (number: number): string => many(number, 'person', 'people');

/** A dry run, for a person. */
export function renderDryRun(run: DryRun, { name, zone }: { name: string; zone: string }): string[] {
  const { draft, from, to, playedFrom, compared, deviations } = run;
  const cut =
    playedFrom === from ? [] : [`          history begins ${timeIn(zone, playedFrom)}: nothing before is played`];
  return [
    `dry run   ${oneLine(name, 80)}`,
    `from      ${timeIn(zone, from)}`,
    `to        ${timeIn(zone, to)}`,
    ...cut,
    '',
    `fires     ${many(draft.fires, 'time', 'times')} for ${people(draft.people)}, of ${many(draft.events, 'event', 'events')} that it listens to`,
    `messages  ${messagesOf(draft)}`,
    ...(draft.days.length === 0 ? [] : ['', ...renderDays(draft)]),
    ...(draft.outcomes.length === 0 ? [] : ['', ...renderOutcomes(draft)]),
    ...(draft.sample.length === 0 ? [] : ['', 'for example', ...renderSample(draft.sample, zone)]),
    ...(compared === null ? [] : ['', ...renderCompared(compared, draft)]),
    ...(deviations.length === 0 ? [] : ['', 'what the past does not tell']),
    ...deviations.flatMap(({ says }) => wrapped(says)),
    '',
    'nothing was changed, nothing was sent',
  ];
}

function messagesOf({ messages }: RunOfRule): string {
  const { sent, shifted, capped, dropped, perhaps } = messages;
  const parts = [
    count(sent + shifted),
    ...(shifted === 0 ? [] : [`${count(shifted)} of them after quiet hours`]),
    ...(perhaps === 0 ? [] : [`perhaps ${count(perhaps)} more, if what they wait for comes`]),
    ...(capped === 0 ? [] : [`${count(capped)} find no room under the caps when they are due`]),
    ...(dropped === 0 ? [] : [`${count(dropped)} are due in quiet hours and dropped`]),
  ];
  return parts.join('; ');
}

function renderDays({ days }: RunOfRule): string[] {
  const most = Math.max(1, ...days.map(({ fires }) => fires));
  const rows = days.map(({ day, events, fires, messages }) => [
    ...[day, count(events), count(fires), count(messages)],
    '▇'.repeat(Math.ceil((fires / most) * BAR)),
  ]);
  return columnsOf([['day', 'events', 'fires', 'messages'], ...rows], [1, 2, 3]);
}

const renderOutcomes = ({ outcomes }: RunOfRule): string[] =>
  columnsOf(
    [['decision', 'reason', 'times'], ...outcomes.map((of) => [of.decision, of.reasonCode, count(of.count)])],
    [2],
  );

const renderSample = (sample: readonly Sample[], zone: string): string[] =>
  tableOf(
    ['person', 'at', 'event'],
    sample.map(({ userId, at, eventId }) => [userId, timeIn(zone, at), eventId]),
  );

function renderCompared({ ruleId, version, live, gains, loses }: Compared, draft: RunOfRule): string[] {
  const told = (of: Compared['gains']) =>
    of.people === 0 ? 'nobody' : `${people(of.people)}: ${of.sample.map(({ userId }) => userId).join(', ')}`;
  const sent = (of: RunOfRule) => count(of.messages.sent + of.messages.shifted);
  return [
    `compared with rule ${ruleId} as it is now, version ${version}`,
    ...columnsOf(
      [
        ['', 'now', 'then'],
        ['fires', count(live.fires), count(draft.fires)],
        ['people', count(live.people), count(draft.people)],
        ['messages', sent(live), sent(draft)],
      ],
      [1, 2],
    ),
    `newly reached  ${told(gains)}`,
    `no more        ${told(loses)}`,
  ];
}

/** A sentence as an item of a list. */
function wrapped(sentence: string): string[] {
  const lines: string[] = [];
  let line = '-';
  for (const word of sentence.split(' ')) {
    if (line.length + word.length + 1 > WIDTH) {
      lines.push(line);
      line = ' ';
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

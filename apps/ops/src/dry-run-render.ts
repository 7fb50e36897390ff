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
  const { draft, from, to, playedFrom, ahead, compared, deviations } = run;
  const cut =
    playedFrom === from ? [] : [`          history begins ${timeIn(zone, playedFrom)}: nothing before is played`];
  return [
    `dry run   ${oneLine(name, 80)}`,
    `from      ${timeIn(zone, from)}`,
    `to        ${timeIn(zone, to)}`,
    ...cut,
    '',
    `fires     ${firesOf(draft)}`,
    `messages  ${messagesOf(draft)}`,
    ...(ahead === null ? [] : renderAhead(ahead)),
    ...(draft.days.length === 0 ? [] : ['', ...renderDays(draft)]),
    ...(draft.outcomes.length === 0 ? [] : ['', ...renderOutcomes(draft)]),
    ...(draft.sample.length === 0 ? [] : ['', 'for example', ...renderSample(draft.sample, zone)]),
    ...(compared === null ? [] : ['', ...renderCompared(compared, draft)]),
    ...(deviations.length === 0 ? [] : ['', ahead === null ? 'what the past does not tell' : 'what is not known']),
    ...deviations.flatMap(({ says }) => wrapped(says)),
    '',
    'nothing was changed, nothing was sent',
  ];
}

function firesOf({ fires, people: reached, events, cycles }: RunOfRule): string {
  const times = `${many(fires, 'time', 'times')} for ${people(reached)}`;
  if (cycles === null) return `${times}, of ${many(events, 'event', 'events')} that it listens to`;
  return `${times}, of ${many(events, 'meeting', 'meetings')} with a person in ${many(cycles, 'cycle', 'cycles')}`;
}

/** What is still to come, against what is left of the month. */
function renderAhead({ thisMonth, later, month }: NonNullable<DryRun['ahead']>): string[] {
  const after = later === 0 ? '' : `; ${count(later)} after it`;
  const left =
    month.known === 'unknown'
      ? 'LINE has not told within the hour how many are left'
      : month.known === 'no_limit'
        ? 'LINE names no limit'
        : `${count(month.left)} are left${month.left < thisMonth ? `, ${count(thisMonth - month.left)} too few` : ''}`;
  return [`month     ${count(thisMonth)} of them are still to come in this month of LINE: ${left}${after}`];
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

function renderDays({ days, cycles }: RunOfRule): string[] {
  const most = Math.max(1, ...days.map(({ fires }) => fires));
  const rows = days.map(({ day, events, fires, messages }) => [
    ...[day, count(events), count(fires), count(messages)],
    '▇'.repeat(Math.ceil((fires / most) * BAR)),
  ]);
  return columnsOf([['day', cycles === null ? 'events' : 'met', 'fires', 'messages'], ...rows], [1, 2, 3]);
}

const renderOutcomes = ({ outcomes }: RunOfRule): string[] =>
  columnsOf(
    [['decision', 'reason', 'times'], ...outcomes.map((of) => [of.decision, of.reasonCode, count(of.count)])],
    [2],
  );

const renderSample = (sample: readonly Sample[], zone: string): string[] =>
  tableOf(
    ['person', 'at', sample.some(({ eventId }) => eventId !== null) ? 'event' : ''],
    sample.map(({ userId, at, eventId }) => [userId, timeIn(zone, at), eventId ?? '']),
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

import type { CycleThen, Explanation, Step } from '@dueline/explain';
import { sayReason } from '@dueline/explain';
import { oneLine, tableOf, timeIn } from './actions/table.ts';

/** Columns of a value. */
const VALUE_WIDTH = 40;
const mark = (passes: boolean | null): string => (passes === null ? '·' : passes ? '✓' : '✗');

/** An explanation, for a person. */
export function renderExplanation(explanation: Explanation, zone: string): string[] {
  const { rule, userId, event, cycle, fired, says, reason, steps, leaves, aftermath, delivery, account } = explanation;
  return [
    `${fired ? '✓' : '✗'} ${says}`,
    '',
    `rule      ${rule.id} ${oneLine(rule.name, 80)}, ${versionOf(rule)}`,
    `person    ${userId}`,
    ...(event === null
      ? []
      : [
          `event     ${event.eventId} ${event.topic}`,
          `happened  ${timeIn(zone, event.occurredAt)}`,
          `decided   ${timeIn(zone, event.decidedAt)}`,
        ]),
    ...(cycle === null ? [] : [`cycle     ${cycleOf(cycle, zone)}`]),
    `reason    ${reason}`,
    ...(steps.length === 0 ? [] : ['', ...tableOf(['', 'asked', 'found'], steps.map(toRow))]),
    ...(leaves.length === 0 ? [] : ['', ...renderLeaves(leaves)]),
    ...(aftermath.length === 0 ? [] : ['', 'and then']),
    ...tableOf(
      [],
      aftermath.map((row) => [timeIn(zone, row.at), `${row.decision}: ${row.reasonCode}`, sayReason(row.reasonCode)]),
    ).slice(1),
    ...(delivery === null ? [] : ['', deliverySays(delivery, zone)]),
    ...(account.isStopped ? ['', 'the account is stopped now: what is due waits'] : []),
    ...(account.status === 'active' ? [] : ['', `the account is paused now (${account.status}): its messages wait`]),
  ];
}

function versionOf({ version, state, versionNow }: Explanation['rule']): string {
  if (version === null) return `not made yet then; version ${versionNow} now`;
  return `version ${version} (${state})${version === versionNow ? '' : `; version ${versionNow} now`}`;
}

function cycleOf({ id, scheduledAt, status, reasonCode, message }: CycleThen, zone: string): string {
  const state = [status, reasonCode, message].filter((part) => part !== null).join(', ');
  return `${id === null ? '' : `${id} of `}${timeIn(zone, scheduledAt)}  ${state}`;
}

const toRow = ({ passes, asks, says }: Step): string[] => [mark(passes), asks.replaceAll('_', ' '), oneLine(says, 100)];

function renderLeaves(leaves: Explanation['leaves']): string[] {
  const value = (of: unknown) => (of === undefined ? '' : oneLine(JSON.stringify(of), VALUE_WIDTH));
  const rows = leaves.map((leaf) => [
    mark(leaf.holds),
    leaf.path || '/',
    leaf.attribute ?? leaf.event ?? `audience ${leaf.audience}`,
    leaf.op,
    value(leaf.expected),
    leaf.why ?? (leaf.actual === undefined ? '-' : value(leaf.actual)),
  ]);
  return tableOf(['', 'condition', 'of', 'asks', 'for', 'found'], rows);
}

function deliverySays(
  { id, status, reasonCode, waitsUntil }: NonNullable<Explanation['delivery']>,
  zone: string,
): string {
  const why = reasonCode === null ? '' : `, ${reasonCode}`;
  return `message   ${id} ${status}${why}${waitsUntil === null ? '' : `, not before ${timeIn(zone, waitsUntil)}`}`;
}

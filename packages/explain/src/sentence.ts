import type { DeliveryFate } from './decided.ts';
import { sayReason } from './reasons.ts';
import { FIRED, type Told } from './told.ts';

const VERB: Readonly<Record<string, string>> = {
  fired: 'it fired',
  scheduled: 'it fired, to act later',
  observed: 'it would have fired, and observes only',
  failed: 'it failed',
};

/** The answer in one sentence. Pure. */
export function sentenceOf(told: Told, delivery: DeliveryFate | undefined): string {
  const sent =
    delivery === undefined
      ? ''
      : `; its message: ${delivery.status}${delivery.reasonCode === null ? '' : `, ${delivery.reasonCode}`}`;
  return `${told.cycle === undefined ? ofEvent(told) : ofCycle({ ...told, cycle: told.cycle })}${sent}`;
}

function ofEvent({ fired, reason, row, computed, basis }: Told): string {
  const verb = VERB[row?.decision ?? (fired ? (computed?.decision ?? '') : '')] ?? 'it did not fire';
  const why = row?.errorMessage ?? sayReason(reason);
  const would =
    row === undefined && !fired && computed !== undefined && FIRED.has(computed.decision)
      ? '; it would have fired otherwise'
      : '';
  const from =
    basis === 'computed' && computed?.reasonCode === reason
      ? ' (worked out from the past: history has no line of it)'
      : '';
  return `${verb}: ${why}${would}${from}`;
}

/** Of what was read and waits nobody knows yet. */
function ofCycle({
  fired,
  reason,
  row,
  computed,
  basis,
  cycle,
  last,
  steps,
}: Told & Required<Pick<Told, 'cycle'>>): string {
  if (cycle?.status === 'ahead' && computed?.decision === 'observed')
    return `as things stand, it would fire, and observes only: ${sayReason(reason)}`;
  if (cycle?.status === 'ahead')
    return `as things stand, it will${fired ? '' : ' not'} fire: ${reason === 'not_in_cycle' ? notMet(steps) : sayOfCycle(reason)}`;
  if (basis === 'computed')
    return ofEvent({ fired, reason, row, computed, basis, version: undefined, steps, leaves: [] }).replace(
      sayReason('not_in_cycle'),
      notMet(steps),
    );
  if (last === undefined && row?.decision === 'scheduled')
    return 'it waits: whether its conditions hold is asked when its action is due';
  const decided = last ?? row;
  return `${VERB[decided?.decision ?? ''] ?? 'it did not fire'}: ${decided?.errorMessage ?? sayOfCycle(reason)}`;
}

/** An action of a cycle is asked once, when it is due. */
function sayOfCycle(reason: Told['reason']): string {
  if (reason === 'conditions_no_longer_hold') return 'its conditions do not hold when its action is due';
  return sayReason(reason === 'due' ? 'matched' : reason);
}

/** Why a cycle does not meet a person, by the first question that they do not pass. */
function notMet(steps: Told['steps']): string {
  const no = steps.find(({ asks, passes }) => asks !== 'source' && passes === false);
  return `${sayReason('not_in_cycle')}${no === undefined ? '' : `: ${no.says}`}`;
}

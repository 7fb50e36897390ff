import type { ActionRequest } from '@dueline/contracts';
import { type HeldAction, MAX_RESCUES } from '@dueline/scheduled-actions';
import type { RuleState } from '@dueline/trigger-rules';
import type { Verdict } from './settle-actions.ts';
import { missingTarget, type Targets } from './targets.ts';

type Hindrance = Omit<Verdict, 'action'>;

/** An action that kills whoever decides it fails. Pure. */
export function givenUp({ id, fence, rescueCount }: HeldAction): Hindrance | undefined {
  if (rescueCount <= MAX_RESCUES) return undefined;
  const error = `${rescueCount} processes died while they decided it`;
  return { outcome: { id, fence, to: 'failed', error }, reasonCode: 'kills_its_process' };
}

/**
 * What keeps an action from being decided at all, however its person stands. A person may have cancelled its cycle. In a stopped account nothing is decided, and the action
 * waits until the stop is over; so does one whose rule holds its actions while it is disabled, and it is looked at again seldom. Pure.
 */
export function hinderedAtFirst(action: HeldAction, rule: RuleState | 'none'): Hindrance | undefined {
  const { id, fence } = action;
  if (action.calledOff)
    return { outcome: { id, fence, to: 'cancelled', reason: 'cycle_cancelled' }, reasonCode: 'cycle_cancelled' };
  if (action.stopped) {
    return { outcome: { id, fence, to: 'deferred', until: 'claimable' }, reasonCode: 'account_stopped' };
  }
  if (rule !== 'held') return undefined;
  if (action.overdue) return expired(action);
  return { outcome: { id, fence, to: 'deferred', until: 'lateness' }, reasonCode: 'rule_disabled' };
}

const expired = ({ id, fence }: HeldAction): Hindrance => ({
  outcome: { id, fence, to: 'cancelled', reason: 'expired' },
  reasonCode: 'expired',
});

/** What keeps an action that is to run from running now: it is too late, what it names is gone, or its account has quiet hours. Pure. */
export function hinderedAtLast(
  action: HeldAction,
  { request, targets }: { request: ActionRequest; targets: Targets },
): Hindrance | undefined {
  const { id, fence } = action;
  if (action.overdue) return expired(action);
  const missing = missingTarget({ lineOaId: action.lineOaId, request }, targets);
  if (missing !== undefined) {
    const error = missing === 'audience_deleted' ? 'its audience is deleted' : 'its rich menu is deleted';
    return { outcome: { id, fence, to: 'failed', error }, reasonCode: missing };
  }
  if (action.quietUntil === null || request.actionType !== 'send_message') return undefined;
  switch (action.quietPolicy) {
    case 'ignore':
      return undefined;
    case 'drop':
      return { outcome: { id, fence, to: 'cancelled', reason: 'quiet_hours' }, reasonCode: 'quiet_hours' };
    case 'shift':
      return {
        outcome: { id, fence, to: 'deferred', until: { at: action.quietUntil } },
        reasonCode: 'quiet_hours',
        detail: { until: action.quietUntil },
      };
  }
}

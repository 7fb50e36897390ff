import type { AttentionToOpen } from '@dueline/attention';
import type { HeldAction } from '@dueline/scheduled-actions';
import type { ReasonCode } from '@dueline/trigger-rules';

/** The fields of a history row that come from the action. */
export function entryBase(action: HeldAction) {
  const { organizationId, lineOaId, userId, triggerRuleId, ruleVersion, eventId, rootId } = action;
  return {
    ...{ organizationId, lineOaId, userId, triggerRuleId, ruleVersion, eventId, rootId },
    triggerOn: 'scheduled_action',
    action: action.request,
    scheduledActionId: action.id,
  };
}

/** That an action failed for good, for a person to see. */
export function failedItem(action: HeldAction, reasonCode: ReasonCode): AttentionToOpen {
  const { organizationId, lineOaId, userId, retryCount, rescueCount } = action;
  const detail = { retryCount, rescueCount };
  return { organizationId, lineOaId, kind: 'action_failed', refId: action.id, userId, reasonCode, detail };
}

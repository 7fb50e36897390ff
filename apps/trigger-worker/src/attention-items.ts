import type { AttentionToOpen } from '@dueline/attention';
import type { LogEntry } from '@dueline/trigger-rules';

/** What of these decisions a person must see. Pure. */
export const attentionItems = (entries: readonly LogEntry[]): AttentionToOpen[] => [
  ...entries.flatMap(failedItem),
  ...entries.flatMap(loopItem),
];

/** An action that failed because its date had passed, or a rule whose words cannot be sent; other failures of a rule stay in the history. */
function failedItem({ decision, scheduledActionId, ...entry }: LogEntry): AttentionToOpen[] {
  const { organizationId, lineOaId, userId, reasonCode, triggerRuleId } = entry;
  const item = { organizationId, lineOaId, userId, reasonCode };
  if (decision !== 'failed') return [];
  if (typeof scheduledActionId === 'string') return [{ ...item, kind: 'action_failed', refId: scheduledActionId }];
  return reasonCode === 'content_invalid' && triggerRuleId !== null
    ? [{ ...item, kind: 'rule_failed', refId: triggerRuleId }]
    : [];
}

/** A rule that feeds itself: one open item, however often it would. */
function loopItem({ reasonCode, triggerRuleId, organizationId, lineOaId, userId }: LogEntry): AttentionToOpen[] {
  if (reasonCode !== 'rule_loops' || triggerRuleId === null) return [];
  return [{ organizationId, lineOaId, kind: 'rule_loops', refId: triggerRuleId, userId, reasonCode }];
}

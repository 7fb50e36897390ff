import type { ActionRequest, ActionType, SendMessageConfig, Tenant } from '@dueline/contracts';
import { sql } from '@dueline/db';

/** A waiting row that was cancelled before its time, as its history needs it. */
export interface CancelledAction extends Tenant {
  readonly id: string;
  readonly userId: string;
  readonly triggerRuleId: string | null;
  readonly ruleVersion: number | null;
  readonly eventId: string | null;
  readonly rootId: string | null;
  readonly request: ActionRequest;
}

export type CancelledRow = {
  id: string;
  organization_id: string;
  line_oa_id: string;
  user_id: string;
  trigger_rule_id: string | null;
  rule_version: number | null;
  event_id: string | null;
  root_id: string | null;
  action_type: ActionType;
  action_config: SendMessageConfig;
};

/** pending -> cancelled for the rows `held (id)` that the statement has locked; returns them as {@link CancelledRow}. */
export const cancelHeld = (reason: string) => sql`
  update scheduled_action as action
     set status = 'cancelled', fence = action.fence + 1, cancel_reason = ${reason}, executed_at = app_now(),
         updated_at = clock_timestamp()
    from held where action.id = held.id
  returning action.id, action.organization_id, action.line_oa_id, user_id, trigger_rule_id, rule_version, event_id, root_id,
            action_type, action_config`;

export const parseCancelled = (row: CancelledRow): CancelledAction => ({
  id: row.id,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  userId: row.user_id,
  triggerRuleId: row.trigger_rule_id,
  ruleVersion: row.rule_version,
  eventId: row.event_id,
  rootId: row.root_id,
  request: { actionType: row.action_type, actionConfig: row.action_config },
});

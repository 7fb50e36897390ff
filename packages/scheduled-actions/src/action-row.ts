import type { ActionConfig, ActionRequest, ActionType, Tenant } from '@dueline/contracts';
import { sql } from '@dueline/db';

/** What an action is, whatever became of it: whose it is, where it came from, and what it does. */
export interface StoredAction extends Tenant {
  readonly id: string;
  readonly userId: string;
  readonly triggerRuleId: string | null;
  readonly ruleVersion: number | null;
  readonly eventId: string | null;
  readonly rootId: string | null;
  readonly request: ActionRequest;
}

/** The columns of {@link ACTION}. */
export type ActionRow = {
  id: string;
  organization_id: string;
  line_oa_id: string;
  user_id: string;
  trigger_rule_id: string | null;
  rule_version: number | null;
  event_id: string | null;
  root_id: string | null;
  action_type: ActionType;
  action_config: ActionConfig;
};

/** Of `scheduled_action as action`. */
export const ACTION = sql`
  action.id, action.organization_id, action.line_oa_id, action.user_id, action.trigger_rule_id, action.rule_version, action.event_id,
  action.root_id, action.action_type, action.action_config`;

export const parseAction = (row: ActionRow): StoredAction => ({
  id: row.id,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  userId: row.user_id,
  triggerRuleId: row.trigger_rule_id,
  ruleVersion: row.rule_version,
  eventId: row.event_id,
  rootId: row.root_id,
  request: { actionType: row.action_type, actionConfig: row.action_config } as ActionRequest,
});

import type { ActionRequest, ActionType, Tenant } from '@dueline/contracts';
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
  action_config: string;
};

/** Of `scheduled_action as action`. */
export const ACTION = sql`
  action.id, action.organization_id, action.line_oa_id, action.user_id, action.trigger_rule_id, action.rule_version, action.event_id,
  action.root_id, action.action_type, action.action_config::text as action_config`;

export const parseAction = (row: ActionRow): StoredAction => ({
  id: row.id,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  userId: row.user_id,
  triggerRuleId: row.trigger_rule_id,
  ruleVersion: row.rule_version,
  eventId: row.event_id,
  rootId: row.root_id,
  request: { actionType: row.action_type, actionConfig: readDocument(row.action_config) } as ActionRequest,
});

const MAX_KNOWN = 1_000;
const known = new Map<string, object>();

/**
 * The document of a JSON text: the very same object for the same text, because most rows of a batch say the same. So nobody may change it, and
 * whoever keeps what it made of one need not look at it again.
 */
export function readDocument(text: string): object {
  const document = known.get(text) ?? (JSON.parse(text) as object);
  if (!known.has(text) && known.size >= MAX_KNOWN) known.clear();
  known.set(text, document);
  return document;
}

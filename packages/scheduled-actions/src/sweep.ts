import type { ActionRequest, ActionType, SendMessageConfig, Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';

/** A row that the deletion of its rule cancelled. */
export interface SweptAction extends Tenant {
  readonly id: string;
  readonly userId: string;
  readonly triggerRuleId: string;
  readonly ruleVersion: number | null;
  readonly eventId: string | null;
  readonly rootId: string | null;
  readonly request: ActionRequest;
}

type SweptRow = {
  id: string;
  organization_id: string;
  line_oa_id: string;
  user_id: string;
  trigger_rule_id: string;
  rule_version: number | null;
  event_id: string | null;
  root_id: string | null;
  action_type: ActionType;
  action_config: SendMessageConfig;
};

/**
 * pending -> cancelled for at most 500 rows whose rule is deleted, in id order; rows that somebody holds are left for the next
 * call. The caller writes their history in the same transaction, and calls again until it gets none.
 */
export async function cancelOfDeletedRules(tx: Tx): Promise<SweptAction[]> {
  const { rows } = await tx.execute<SweptRow>(sql`
    with left_over as materialized (
      select waiting.id
        from trigger_rule as rule
       cross join lateral (select id from scheduled_action where trigger_rule_id = rule.id and status = 'pending' order by id limit 500) as waiting
       where rule.deleted_date is not null
       order by waiting.id limit 500
    ), held as materialized (
      select id from scheduled_action
       where id = any(array(select id from left_over)) and status = 'pending'
       order by id
         for no key update skip locked
    )
    update scheduled_action as action
       set status = 'cancelled', fence = action.fence + 1, cancel_reason = 'rule_deleted', executed_at = app_now(),
           updated_at = clock_timestamp()
      from held where action.id = held.id
    returning action.id, action.organization_id, action.line_oa_id, user_id, trigger_rule_id, rule_version, event_id, root_id,
              action_type, action_config`);
  return rows.map((row) => ({
    id: row.id,
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
    userId: row.user_id,
    triggerRuleId: row.trigger_rule_id,
    ruleVersion: row.rule_version,
    eventId: row.event_id,
    rootId: row.root_id,
    request: { actionType: row.action_type, actionConfig: row.action_config },
  }));
}

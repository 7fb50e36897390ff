import { sql, type Tx } from '@dueline/db';
import type { ActionToSchedule } from './schedule.ts';

/**
 * none -> failed for an action that could not be made to wait, so that it is seen and a person may retry it; then it is done at once, whatever its delay.
 * Returns its id; undefined: its dedup_key has a row.
 */
export async function insertFailed(
  tx: Tx,
  action: Pick<
    ActionToSchedule,
    'organizationId' | 'lineOaId' | 'userId' | 'request' | 'sourceConfig' | 'triggerRuleId' | 'ruleVersion' | 'dedupKey'
  >,
  error: string,
): Promise<string | undefined> {
  const { request, sourceConfig } = action;
  const { rows } = await tx.execute<{ id: string }>(sql`
    insert into scheduled_action (organization_id, line_oa_id, trigger_rule_id, rule_version, user_id, action_type, action_config, source_config,
                                  execute_at, due_at, lane, status, executed_at, last_error, dedup_key)
    values (${action.organizationId}, ${action.lineOaId}, ${action.triggerRuleId}, ${action.ruleVersion}, ${action.userId}, ${request.actionType},
            ${JSON.stringify(request.actionConfig)}, ${sourceConfig === null ? null : JSON.stringify(sourceConfig)}, app_now(), app_now(), 1,
            'failed', app_now(), ${error}, ${action.dedupKey})
        on conflict (line_oa_id, dedup_key) do nothing
    returning id`);
  return rows[0]?.id;
}

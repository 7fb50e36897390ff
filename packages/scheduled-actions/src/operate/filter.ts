import { ACTION_TYPES, bigintId, lineUserId, type Tenant } from '@dueline/contracts';
import { column, type SQL, sql, type Tx } from '@dueline/db';
import { z } from 'zod';
import { SCHEDULED_ACTION_STATUSES, type ScheduledActionStatus } from '../state.ts';
import { accountInstant, actionTime } from './time.ts';

/** Which actions of an account; what is not named does not matter. Times are instants, or local times of the account. */
export const actionFilter = z.strictObject({
  ruleId: bigintId.optional(),
  userId: lineUserId.optional(),
  statuses: z.array(z.enum(SCHEDULED_ACTION_STATUSES)).min(1).optional(),
  /** Due at this time or later. */
  dueFrom: actionTime.optional(),
  /** Due before this time. */
  dueBefore: actionTime.optional(),
  actionType: z.enum(ACTION_TYPES).optional(),
  workflowId: bigintId.optional(),
  lane: z.union([z.literal(0), z.literal(1), z.literal(2)]).optional(),
  /** Part of a text of its messages, whatever the case. */
  text: z.string().min(1).max(200).optional(),
});
export type ActionFilter = z.infer<typeof actionFilter>;

/** The filter as a predicate on the row `action`, tenant included. */
export async function whereOf(
  tx: Tx,
  tenant: Tenant,
  { filter, statuses }: { filter: ActionFilter; statuses: readonly ScheduledActionStatus[] | undefined },
): Promise<SQL> {
  const from = filter.dueFrom === undefined ? undefined : await accountInstant(tx, tenant, filter.dueFrom);
  const before = filter.dueBefore === undefined ? undefined : await accountInstant(tx, tenant, filter.dueBefore);
  const terms = [
    sql`action.organization_id = ${tenant.organizationId} and action.line_oa_id = ${tenant.lineOaId}`,
    statuses && sql`action.status = any(${column(statuses, 'text')})`,
    filter.ruleId && sql`action.trigger_rule_id = ${filter.ruleId}`,
    filter.userId && sql`action.user_id = ${filter.userId}`,
    from && sql`action.execute_at >= ${from}::timestamptz`,
    before && sql`action.execute_at < ${before}::timestamptz`,
    filter.actionType && sql`action.action_type = ${filter.actionType}`,
    filter.workflowId && sql`action.workflow_id = ${filter.workflowId}`,
    filter.lane !== undefined && sql`action.lane = ${filter.lane}`,
    filter.text &&
      sql`exists (select from jsonb_path_query(action.action_config, '$.messages[*].text') as said
                   where strpos(lower(said #>> '{}'), lower(${filter.text})) > 0)`,
  ];
  return sql.join(
    terms.filter((term) => term instanceof Object),
    sql` and `,
  );
}

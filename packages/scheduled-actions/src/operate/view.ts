import type { ActionRequest } from '@dueline/contracts';
import { type SQL, sql } from '@dueline/db';
import type { ScheduledActionStatus } from '../state.ts';

interface ActionFields {
  readonly id: string;
  /** What an operation has to name, so that it changes what was seen. */
  readonly fence: string;
  readonly status: ScheduledActionStatus;
  /** The newest delivery of its messages, the first that is not accepted, when it is done: `done` says handed over, this says what came of it. */
  readonly delivery: string | null;
  readonly userId: string;
  readonly triggerRuleId: string | null;
  readonly ruleName: string | null;
  readonly ruleVersion: number | null;
  readonly workflowId: string | null;
  readonly executeAt: string;
  /** When it was meant to be due; retries do not move it, people do. */
  readonly dueAt: string;
  /** Until when it waits for a fact. */
  readonly expiresAt: string | null;
  /** Which way its wait went. */
  readonly branch: string | null;
  readonly lane: number;
  /** How often a person had it run anew. */
  readonly gen: number;
  readonly retryCount: number;
  readonly cancelReason: string | null;
  readonly lastError: string | null;
  readonly createdAt: string;
  readonly executedAt: string | null;
}

/** An action as a person sees it. Instants are RFC 3339; what does not apply is null. */
export type ActionView = ActionFields & ActionRequest;

/** An instant as RFC 3339 with microseconds; null stays null. */
export const asInstant = (expression: SQL): SQL => sql`(to_json(${expression}) #>> '{}')`;

/** The columns of {@link ActionView} of the row `action`. */
export const viewColumns = sql`
  action.id, action.fence, action.status,
  (select delivery.status from delivery where delivery.kind = 'action' and delivery.logical_id = action.id::text
    order by delivery.epoch desc, delivery.status = 'accepted', delivery.ordinal limit 1) as delivery,
  action.user_id as "userId", action.trigger_rule_id as "triggerRuleId",
  (select rule.name from trigger_rule as rule where rule.id = action.trigger_rule_id) as "ruleName",
  action.rule_version as "ruleVersion", action.workflow_id as "workflowId", action.action_type as "actionType",
  action.action_config as "actionConfig", ${asInstant(sql`action.execute_at`)} as "executeAt", ${asInstant(sql`action.due_at`)} as "dueAt",
  ${asInstant(sql`action.expires_at`)} as "expiresAt", action.branch, action.lane, action.gen, action.retry_count as "retryCount",
  action.cancel_reason as "cancelReason", action.last_error as "lastError", ${asInstant(sql`action.created_at`)} as "createdAt",
  ${asInstant(sql`action.executed_at`)} as "executedAt"`;

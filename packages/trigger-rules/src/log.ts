import type { ActionRequest, Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { storableText } from '@dueline/kernel';

/**
 * What was decided. `fired`: handed to line-delivery; `scheduled`: waits; `unlocked`: need not wait longer; `deferred`: waits longer; the
 * others ended here.
 */
export type Decision =
  | 'fired'
  | 'scheduled'
  | 'unlocked'
  | 'deferred'
  | 'not_matched'
  | 'suppressed'
  | 'cancelled'
  | 'retried'
  | 'failed';

/** Why, from a closed list. */
export const REASON_CODES = [
  'matched',
  'due',
  'value_not_matched',
  'conditions_not_met',
  'conditions_no_longer_hold',
  'frequency',
  'already_done',
  'fact_in_time',
  'fact_late',
  'already_scheduled',
  'already_pending',
  'wait_expired',
  'date_past',
  'no_date',
  'date_moved',
  'date_gone',
  'booking_cancelled',
  'user_unknown',
  'user_not_following',
  'rule_disabled',
  'rule_deleted',
  'rule_invalid',
  'decision_failed',
  'skipped_while_stopped',
  'expired',
  'quiet_hours',
  'account_stopped',
  'kills_its_process',
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

/** One row of trigger_log: a rule (or a row of scheduled_action that came due) met a user. */
export interface LogEntry extends Tenant {
  readonly userId: string;
  readonly triggerRuleId: string | null;
  readonly ruleVersion: number | null;
  /** What made us look: the source's name, or `scheduled_action` for a row that came due. */
  readonly triggerOn: string;
  /** The action as it was; null when the rule could not be read. */
  readonly action: ActionRequest | null;
  readonly decision: Decision;
  readonly reasonCode: ReasonCode;
  readonly errorMessage?: string;
  readonly detail?: unknown;
  readonly eventId: string | null;
  readonly rootId: string | null;
  readonly scheduledActionId?: string | null;
  readonly deliveryId?: string | null;
}

const STATUS: Record<Decision, 'success' | 'skipped' | 'cancelled' | 'failed'> = {
  fired: 'success',
  scheduled: 'success',
  unlocked: 'success',
  not_matched: 'skipped',
  suppressed: 'skipped',
  cancelled: 'cancelled',
  deferred: 'skipped',
  retried: 'failed',
  failed: 'failed',
};

const json = (value: unknown): string | null => (value === undefined || value === null ? null : JSON.stringify(value));

/** Writes history, one row per entry, in the transaction of the decision. */
export async function recordDecisions(tx: Tx, entries: readonly LogEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const col = (
    read: (entry: LogEntry) => string | number | null,
    type: 'bigint' | 'integer' | 'text' | 'uuid' | 'jsonb',
  ) => column(entries.map(read), type);
  await tx.execute(sql`
    insert into trigger_log (organization_id, line_oa_id, trigger_rule_id, rule_version, user_id, trigger_on, action_type,
                             action_config, status, error_message, decision, reason_code, detail, event_id, root_id,
                             scheduled_action_id, delivery_id)
    select * from unnest(
      ${col((entry) => entry.organizationId, 'bigint')}, ${col((entry) => entry.lineOaId, 'bigint')},
      ${col((entry) => entry.triggerRuleId, 'bigint')}, ${col((entry) => entry.ruleVersion, 'integer')},
      ${col((entry) => entry.userId, 'text')}, ${col((entry) => entry.triggerOn, 'text')},
      ${col((entry) => entry.action?.actionType ?? null, 'text')}, ${col((entry) => json(entry.action?.actionConfig), 'jsonb')},
      ${col((entry) => STATUS[entry.decision], 'text')},
      ${col((entry) => (entry.errorMessage === undefined ? null : storableText(entry.errorMessage)), 'text')},
      ${col((entry) => entry.decision, 'text')}, ${col((entry) => entry.reasonCode, 'text')},
      ${col((entry) => json(entry.detail), 'jsonb')}, ${col((entry) => entry.eventId, 'uuid')},
      ${col((entry) => entry.rootId, 'uuid')}, ${col((entry) => entry.scheduledActionId ?? null, 'bigint')},
      ${col((entry) => entry.deliveryId ?? null, 'bigint')})`);
}

/** Waiting work that ended before it was decided. */
export interface CancelledWork extends Tenant {
  readonly id: string;
  readonly userId: string;
  readonly triggerRuleId: string | null;
  readonly ruleVersion: number | null;
  readonly eventId: string | null;
  readonly rootId: string | null;
  readonly request: ActionRequest;
}

/** Writes that rows of scheduled_action were cancelled, and why, in the transaction that cancelled them. */
export function recordCancelled(tx: Tx, cancelled: readonly CancelledWork[], reasonCode: ReasonCode): Promise<void> {
  return recordDecisions(
    tx,
    cancelled.map(({ id, request, ...action }) => ({
      ...action,
      ...{ triggerOn: 'scheduled_action', action: request, decision: 'cancelled', reasonCode, scheduledActionId: id },
    })),
  );
}

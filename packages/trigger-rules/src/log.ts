import type { ActionRequest, RuleAction, Tenant } from '@dueline/contracts';
import {
  type Alongside,
  given,
  kindsOf,
  type Rows,
  rowsGiven,
  rowsOf,
  sharedGiven,
  sql,
  statement,
  type Tx,
} from '@dueline/db';
import { storableText } from '@dueline/kernel';
import type { CountedEntry } from './count-unmatched.ts';

/**
 * What was decided. `fired`: handed to line-delivery; `scheduled`: waits; `observed`: would have been one of these; `unlocked`: need not wait longer; `deferred`: waits longer; the
 * others ended here.
 */
export type Decision =
  | 'fired'
  | 'scheduled'
  | 'observed'
  | 'unlocked'
  | 'deferred'
  | 'not_matched'
  | 'suppressed'
  | 'cancelled'
  | 'retried'
  | 'failed';

/** Why, from a closed list, which the table checks too. */
export const REASON_CODES = [
  'matched',
  'due',
  'value_not_matched',
  'conditions_not_met',
  'conditions_no_longer_hold',
  'frequency',
  'frequency_cap',
  'entered_before',
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
  'content_invalid',
  'decision_failed',
  'skipped_while_stopped',
  'expired',
  'quiet_hours',
  'account_stopped',
  'kills_its_process',
  'audience_deleted',
  'rich_menu_deleted',
  'rule_loops',
  'cycle_cancelled',
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
  readonly action: ActionRequest | RuleAction | null;
  readonly decision: Decision;
  readonly reasonCode: ReasonCode;
  readonly errorMessage?: string;
  readonly detail?: unknown;
  readonly eventId: string | null;
  /** The event whose decision led to this one; null or not given: what people and other services did, or a row that came due. */
  readonly causeId?: string | null;
  /** The event to which all of this goes back. */
  readonly rootId: string | null;
  readonly scheduledActionId?: string | null;
  readonly deliveryId?: string | null;
}

const STATUS: Record<Decision, 'success' | 'skipped' | 'cancelled' | 'failed'> = {
  fired: 'success',
  scheduled: 'success',
  observed: 'skipped',
  unlocked: 'success',
  not_matched: 'skipped',
  suppressed: 'skipped',
  cancelled: 'cancelled',
  deferred: 'skipped',
  retried: 'failed',
  failed: 'failed',
};

/** Writes history, one row per entry, in the transaction of the decision. */
export async function recordDecisions(tx: Tx, entries: readonly (LogEntry | CountedEntry)[]): Promise<void> {
  if (entries.length > 0) await insertEntries(tx, { entries: rowsOf(entries, toRow) });
}

const insertEntries = statement<never, { entries: Rows }>(sql`
  insert into trigger_log (organization_id, line_oa_id, trigger_rule_id, rule_version, user_id, trigger_on, action_type, action_config,
                           status, error_message, decision, reason_code, detail, event_id, cause_id, root_id, scheduled_action_id, delivery_id, evaluations)
  select organization_id, line_oa_id, trigger_rule_id, rule_version, user_id, trigger_on, action_type, ${sharedGiven('entries', 'action_config')},
         status, error_message, decision, reason_code, ${sharedGiven('entries', 'detail')}, event_id, cause_id, root_id, scheduled_action_id,
         delivery_id, evaluations
    from ${rowsGiven('entries')} as entry (
           organization_id bigint, line_oa_id bigint, trigger_rule_id bigint, rule_version integer, user_id text, trigger_on text, action_type text,
           action_config integer, status text, error_message text, decision text, reason_code text, detail integer, event_id uuid, cause_id uuid, root_id uuid,
           scheduled_action_id bigint, delivery_id bigint, evaluations integer)`);

/**
 * Writes the history of actions in the statement that makes them: `scheduled`, or what became of one whose date had passed.
 *
 * @param triggerOn The source's name.
 * @param causes What led to an event, by its id; left out: nothing of ours did.
 */
export const recordScheduled = (triggerOn: string, causes: Readonly<Record<string, string>> = {}): Alongside => ({
  template: INSERT_SCHEDULED,
  values: { trigger_on: triggerOn, causes: JSON.stringify(causes) },
});

/** The action stands there as its rule says it, with its delay. A row that ended as it was made bears the name of its end. */
const INSERT_SCHEDULED = sql`
  insert into trigger_log (organization_id, line_oa_id, trigger_rule_id, rule_version, user_id, trigger_on, action_type, action_config,
                           status, decision, reason_code, event_id, cause_id, root_id, scheduled_action_id)
  select organization_id, line_oa_id, trigger_rule_id, rule_version, user_id, ${given('trigger_on')}, action_type,
         action_config || jsonb_build_object('delay', delay_spec), case status when 'pending' then 'success' else status end,
         case status when 'pending' then 'scheduled' else status end, case when due_at < created_at and delay_spec -> 'to' is not null then 'date_past' else 'matched' end,
         event_id, (${given('causes')}::json ->> event_id::text)::uuid, root_id, id
    from made`;

/** What was decided of one row of scheduled_action that came due, with the action as the row says it. */
export type DecisionOnAction = Pick<LogEntry, 'decision' | 'reasonCode' | 'errorMessage' | 'detail'>;

/**
 * Writes the history of rows of scheduled_action in the statement that finishes them: reads `moved (n, id, organization_id, line_oa_id, trigger_rule_id,
 * rule_version, event_id, root_id, user_id, action_type, action_config)` and `sent (scheduled_action_id, id)`.
 *
 * @param decisions For each row by its place `n`, from 1 on.
 */
export function recordFinished(decisions: readonly DecisionOnAction[]): Alongside {
  const { places, kinds } = kindsOf(decisions, ({ decision, reasonCode, errorMessage, detail }) => ({
    ...{ decision, reason: reasonCode, status: STATUS[decision], detail },
    error: errorMessage === undefined ? undefined : storableText(errorMessage),
  }));
  return { template: INSERT_FINISHED, values: { decision_of: places, decisions: kinds } };
}

/** Joined fully, though each that was sent moved: so it cannot be a nested loop, which the planner takes where it expects few rows. */
const INSERT_FINISHED = sql`
  insert into trigger_log (organization_id, line_oa_id, trigger_rule_id, rule_version, user_id, trigger_on, action_type, action_config,
                           status, error_message, decision, reason_code, detail, event_id, root_id, scheduled_action_id, delivery_id)
  select organization_id, line_oa_id, trigger_rule_id, rule_version, user_id, 'scheduled_action', action_type, action_config,
         made ->> 'status', made ->> 'error', made ->> 'decision', made ->> 'reason', made -> 'detail', event_id, root_id, moved.id, sent.id
    from moved full join sent on sent.scheduled_action_id = moved.id
   cross join lateral (
     select ${given('decisions')}::jsonb -> (${given('decision_of')}::integer[])[moved.n] as made offset 0) as decision`;

const toRow = (entry: LogEntry | CountedEntry, share: (document: unknown) => number | null) => ({
  organization_id: entry.organizationId,
  line_oa_id: entry.lineOaId,
  trigger_rule_id: entry.triggerRuleId,
  rule_version: entry.ruleVersion,
  user_id: entry.userId,
  trigger_on: entry.triggerOn,
  action_type: entry.action?.actionType,
  action_config: share(entry.action?.actionConfig),
  status: STATUS[entry.decision],
  error_message: entry.errorMessage === undefined ? undefined : storableText(entry.errorMessage),
  decision: entry.decision,
  reason_code: entry.reasonCode,
  detail: share(entry.detail),
  event_id: entry.eventId,
  cause_id: entry.causeId,
  root_id: entry.rootId,
  scheduled_action_id: entry.scheduledActionId,
  delivery_id: entry.deliveryId,
  evaluations: 'evaluations' in entry ? entry.evaluations : 1,
});

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

import type { MessageTemplate } from '@dueline/contracts';
import { type SQL, sql } from '@dueline/db';
import { timing } from '../timing.ts';
import type { ActionOperation } from './operation.ts';

/** When the date says that the row `action` hangs on, which may have moved while the row was ended; null: no such date. */
const byItsDate = sql`(
  select timing.due
    from (select action.organization_id, action.line_oa_id, action.user_id, action.delay_spec) as action ${timing}
   where action.delay_spec ->> 'mode' = 'relativeToDate')`;

/** When the row `action` is due after the operation. A wait that runs anew waits until its deadline. */
export function nextExecuteAt(operation: ActionOperation): SQL {
  switch (operation.kind) {
    case 'edit':
      return operation.at === undefined ? sql`action.execute_at` : sql`${operation.at}::timestamptz`;
    case 'postpone':
      return operation.to === undefined
        ? sql`greatest(action.execute_at, app_now()) + make_interval(secs => ${operation.seconds ?? 0})`
        : sql`${operation.to}::timestamptz`;
    case 'fire_now':
      return sql`app_now()`;
    case 'cancel':
      return sql`action.execute_at`;
    case 'uncancel':
      return operation.at === undefined
        ? sql`greatest(
            case when action.anchor_ref is null then action.execute_at else coalesce(${byItsDate}, action.execute_at) end,
            action.expires_at, app_now())`
        : sql`${operation.at}::timestamptz`;
    case 'revive':
      return operation.at === undefined
        ? sql`greatest(action.expires_at, app_now())`
        : sql`${operation.at}::timestamptz`;
  }
}

/** A time that a person named: what is due follows it, and no date that may move any more. A wait is over then. */
const atNamedTime = (operation: ActionOperation): SQL => sql`
  execute_at = ${nextExecuteAt(operation)}, due_at = ${nextExecuteAt(operation)}, anchor_ref = null,
  expires_at = case when action.expires_at is not null then ${nextExecuteAt(operation)} end`;

/** An open row that goes on waiting; one that was claimed is nobody's again, and its try is given back. */
const STILL_PENDING = sql`
  status = 'pending', lease_until = null, attempt = action.attempt - case when action.status = 'processing' then 1 else 0 end`;

/** A row that ended runs anew, as if for the first time. */
const ANEW = sql`
  status = 'pending', gen = action.gen + 1, branch = null, attempt = 0, retry_count = 0, rescue_count = 0, alone = false,
  last_error = null, cancel_reason = null, executed_at = null`;

/** Only the messages: whatever else the action is made of stays. */
const withMessages = ({ messages }: { messages?: readonly MessageTemplate[] | undefined }): SQL =>
  messages === undefined
    ? sql``
    : sql`, action_config = action.action_config || jsonb_build_object('messages', ${JSON.stringify(messages)}::jsonb)`;

/** The assignments that an operation makes to the row `action`; those of every change (fence, updated_at) apart. */
export function assignmentsOf(operation: ActionOperation): SQL {
  switch (operation.kind) {
    case 'edit':
      return sql`${STILL_PENDING}${operation.at === undefined ? sql`` : sql`, ${atNamedTime(operation)}`}${withMessages(operation)}`;
    case 'postpone':
      return sql`${STILL_PENDING}, ${atNamedTime(operation)}`;
    case 'fire_now':
      // a wait ends now, so that a later fact is late; one whose deadline has come ended then
      return sql`${STILL_PENDING}, lane = 0, execute_at = app_now(), due_at = app_now(), anchor_ref = null,
        expires_at = case when action.expires_at > app_now() and action.branch is null then app_now() else action.expires_at end`;
    case 'cancel':
      return sql`status = 'cancelled', cancel_reason = 'by_person', executed_at = app_now(), lease_until = null`;
    case 'uncancel':
    case 'revive':
      return operation.at === undefined
        ? sql`${ANEW}, execute_at = ${nextExecuteAt(operation)}, due_at = ${nextExecuteAt(operation)}${withMessages(operation)}`
        : sql`${ANEW}, ${atNamedTime(operation)}${withMessages(operation)}`;
  }
}

/** What the audit trail tells of the row `action`, before and after. */
export const snapshot = sql`jsonb_build_object(
  'status', action.status, 'fence', action.fence::text, 'gen', action.gen, 'executeAt', action.execute_at, 'dueAt', action.due_at,
  'expiresAt', action.expires_at, 'lane', action.lane, 'branch', action.branch, 'anchorRef', action.anchor_ref,
  'cancelReason', action.cancel_reason, 'lastError', action.last_error, 'retryCount', action.retry_count,
  'actionConfig', action.action_config)`;

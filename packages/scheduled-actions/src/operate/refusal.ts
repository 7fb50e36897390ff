import { type SQL, sql } from '@dueline/db';
import type { ActionOperation } from './operation.ts';

/** Why an operation leaves an action as it is, and what to tell the person. */
export const REFUSALS = {
  not_found: 'there is no such action in this account',
  changed: 'it was changed since you looked at it',
  being_decided: 'a worker took it up since you looked at it',
  still_open: 'it still waits; only what ended can be brought back',
  done: 'it is done, and of its message nothing can be stopped any more',
  failed: 'it failed; revive it to have it tried again',
  cancelled: 'it is cancelled; un-cancel it to have it wait again',
  already_unlocked: 'what it waited for has happened, and it is about to run; it can only be fired or cancelled',
  rule_deleted: 'its rule is deleted',
  already_sent: 'its message was sent',
  maybe_sent: 'its message may be on its way or have arrived',
  already_pending: 'the same work waits already under another action',
  no_message: 'it sends no message, so it has no text to change',
} as const;
export type Refusal = keyof typeof REFUSALS;

const isOpen = sql`action.status in ('pending', 'processing')`;
const statusRefusal = sql`case when ${isOpen} then 'still_open' else action.status end`;

/** The messages of an earlier run of the row `action`. */
const earlierSend = (statuses: SQL) => sql`exists (
  select from delivery where delivery.kind = 'action' and delivery.logical_id = action.id::text and delivery.status in (${statuses}))`;

const isRuleDeleted = sql`(action.trigger_rule_id is not null and not exists (
  select from trigger_rule as rule where rule.id = action.trigger_rule_id and rule.deleted_date is null))`;

/** Another open row has its key, or gets it by this very operation. */
const isKeyTaken = sql`(action.open_key is not null and (
  exists (select from scheduled_action as rival
           where rival.line_oa_id = action.line_oa_id and rival.open_key = action.open_key and rival.status in ('pending', 'processing'))
  or row_number() over (partition by action.line_oa_id, action.open_key order by action.id) > 1))`;

/** The operation changes messages, and the row `action` is not about any. */
const hasNoMessage = (operation: ActionOperation) =>
  'messages' in operation && operation.messages !== undefined ? sql`action.action_type <> 'send_message'` : sql`false`;

/** The {@link Refusal} of an operation for the row `action`, as an SQL expression: null when it may be changed. */
export function refusalOf(operation: ActionOperation): SQL {
  switch (operation.kind) {
    case 'edit':
    case 'postpone':
      return sql`
        case when not ${isOpen} then ${statusRefusal}
             when action.branch is not null then 'already_unlocked'
             when ${hasNoMessage(operation)} then 'no_message' end`;
    case 'fire_now':
    case 'cancel':
      return sql`case when not ${isOpen} then ${statusRefusal} end`;
    case 'uncancel':
    case 'revive':
      return sql`
        case when action.status <> ${operation.kind === 'revive' ? 'failed' : 'cancelled'} then ${statusRefusal}
             when ${isRuleDeleted} then 'rule_deleted'
             when ${hasNoMessage(operation)} then 'no_message'
             when not ${operation.acceptDuplicates ?? false}::boolean and ${earlierSend(sql`'accepted'`)} then 'already_sent'
             when not ${operation.acceptDuplicates ?? false}::boolean and ${earlierSend(sql`'planned', 'sending', 'unknown'`)} then 'maybe_sent'
             when ${isKeyTaken} then 'already_pending' end`;
  }
}

/** The same for a row that was seen under the fence `ticket.fence`; the row may be missing. The most telling reason counts. */
export const refusalUnderFence = (operation: ActionOperation): SQL => sql`
  coalesce(
    case when action.id is null then 'not_found' end,
    ${refusalOf(operation)},
    case when action.fence <> ticket.fence then case when action.status = 'processing' then 'being_decided' else 'changed' end end)`;

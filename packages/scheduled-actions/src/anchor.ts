import type { Delay, Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { timing } from './timing.ts';

/** A date that moved, appeared or went: an attribute of the person, or a booking of theirs. */
export interface MovedAnchor extends Tenant {
  readonly userId: string;
  readonly anchor: { readonly attribute: string } | { readonly bookingId: string };
}

/**
 * What became of a waiting row whose date moved. `moved`: it has a new time. `due`: its new time has passed, and its policy is to
 * fire: it is due now. `cancelled`: with the reason; the new time has passed (policy skip), or there is no date any more.
 * `failed`: the new time has passed (policy fail). Rows whose time stayed are left out.
 */
export interface Recomputed extends Tenant {
  readonly scheduledActionId: string;
  readonly userId: string;
  /** The date that moved, as {@link anchorRef} names it. */
  readonly anchorRef: string;
  readonly triggerRuleId: string | null;
  readonly ruleVersion: number | null;
  readonly result: 'moved' | 'due' | 'cancelled' | 'failed';
  readonly reason: 'date_moved' | 'date_past' | 'date_gone' | 'booking_cancelled';
}

type RecomputedRow = {
  id: string;
  organization_id: string;
  line_oa_id: string;
  user_id: string;
  anchor_ref: string;
  trigger_rule_id: string | null;
  rule_version: number | null;
  result: Recomputed['result'];
  reason: Recomputed['reason'];
};

/** A date as rows name it: `attribute:<name>` or `booking:<id>`. */
export const anchorRef = (anchor: MovedAnchor['anchor']): string =>
  'attribute' in anchor ? `attribute:${anchor.attribute}` : `booking:${anchor.bookingId}`;

/** What a delay hangs on, as the row names it; null: nothing that moves. */
export function anchorRefOf(delay: Delay): string | null {
  return delay.mode === 'relativeToDate' ? anchorRef(delay.to) : null;
}

/**
 * Moves what waits for these dates to its new time, by its own policy when that has passed, under a new fence: a ticket on its
 * way finds nothing. Rows that a transaction is deciding are waited for; those it ended stay as they are. The caller holds the
 * locks of the people, so that a row that is being made reads the new date or is met here; it writes the history, and wakes the
 * claimers after its commit.
 */
export async function recomputeAnchored(tx: Tx, moved: readonly MovedAnchor[]): Promise<Recomputed[]> {
  if (moved.length === 0) return [];
  const { rows: held } = await tx.execute<{ id: string }>(sql`
    ${anchoredIds(moved)}
     order by action.id
       for no key update`);
  if (held.length === 0) return [];
  const timed = timedRows(held.map(({ id }) => id));
  // `failed` is reached from `processing` only: such a row is claimed and decided here, in one transaction.
  await tx.execute(sql`
    update scheduled_action as action
       set status = 'processing', fence = action.fence + 1, attempt = action.attempt + 1, lease_until = clock_timestamp()
      from ${timed} where action.id = timed.id and timed.result = 'failed' and action.status = 'pending'`);
  const { rows } = await tx.execute<RecomputedRow>(sql`
    update scheduled_action as action
       set status = case timed.result when 'cancelled' then 'cancelled' when 'failed' then 'failed' else 'pending' end,
           fence = action.fence + 1, lease_until = null, updated_at = clock_timestamp(),
           attempt = action.attempt - case when action.status = 'processing' and timed.result in ('moved', 'due') then 1 else 0 end,
           execute_at = case when timed.result in ('moved', 'due') then greatest(timed.due, app_now()) else action.execute_at end,
           due_at = coalesce(timed.due, action.due_at),
           executed_at = case when timed.result in ('cancelled', 'failed') then app_now() end,
           cancel_reason = case when timed.result = 'cancelled' then timed.reason end,
           last_error = case when timed.result = 'failed' then timed.reason else action.last_error end
      from ${timed} where action.id = timed.id
    returning action.id, action.organization_id, action.line_oa_id, action.user_id, action.anchor_ref, action.trigger_rule_id,
              action.rule_version, timed.result, timed.reason`);
  return rows.map(parseRow);
}

/** The ids of the open rows `action` that hang on these dates. */
export const anchoredIds = (moved: readonly MovedAnchor[]) => sql`
  select action.id from scheduled_action as action
   where action.status in ('pending', 'processing') and action.anchor_ref is not null
     and (action.line_oa_id, action.organization_id, action.user_id, action.anchor_ref) in (${movedRows(moved)})`;

function movedRows(moved: readonly MovedAnchor[]) {
  const col = (read: (anchor: MovedAnchor) => string, type: 'bigint' | 'text') => column(moved.map(read), type);
  return sql`select * from unnest(
    ${col((anchor) => anchor.lineOaId, 'bigint')}, ${col((anchor) => anchor.organizationId, 'bigint')},
    ${col((anchor) => anchor.userId, 'text')}, ${col(({ anchor }) => anchorRef(anchor), 'text')})`;
}

/** `timed (id, due, result, reason)`: those of the rows whose time is another now. */
const timedRows = (ids: readonly string[]) => sql`(
  select action.id, timing.due,
         case when timing.due is null then 'cancelled' when timing.due >= app_now() then 'moved'
              else case action.delay_spec ->> 'whenPast' when 'fire' then 'due' when 'skip' then 'cancelled' else 'failed' end end as result,
         case when timing.due >= app_now() then 'date_moved' when timing.due is not null then 'date_past'
              when action.anchor_ref like 'booking:%' then 'booking_cancelled' else 'date_gone' end as reason
    from scheduled_action as action ${timing}
   where action.id = any(${column(ids, 'bigint')}) and timing.due is distinct from action.due_at) as timed`;

const parseRow = (row: RecomputedRow): Recomputed => ({
  scheduledActionId: row.id,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  userId: row.user_id,
  anchorRef: row.anchor_ref,
  triggerRuleId: row.trigger_rule_id,
  ruleVersion: row.rule_version,
  result: row.result,
  reason: row.reason,
});

import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';
import { columnOf } from '@dueline/db/testing';
import type { ScheduledActionStatus } from '@dueline/scheduled-actions';

interface State {
  readonly status: ScheduledActionStatus;
  /** When it is due, in minutes from now. */
  readonly dueIn: number;
  /** Whether it waits for a click, until it is due. */
  readonly waits: boolean;
}

/**
 * In what state a row is met. What is claimed is past its lease: its worker is slow, or dead. What does not wait for a click hangs on the
 * date of a booking.
 */
export const STATES = {
  due: { status: 'pending', dueIn: -1, waits: false },
  waiting: { status: 'pending', dueIn: 60, waits: true },
  'overdue wait': { status: 'pending', dueIn: -1, waits: true },
  claimed: { status: 'processing', dueIn: -1, waits: false },
  'claimed wait': { status: 'processing', dueIn: -1, waits: true },
  failed: { status: 'failed', dueIn: 60, waits: true },
  cancelled: { status: 'cancelled', dueIn: 60, waits: true },
} as const satisfies Record<string, State>;

export type StateName = keyof typeof STATES;

/** How long before now a wait began, in minutes. */
const WINDOW_MINUTES = 120;
/** The fence under which every row is met; tickets with the one before are of an earlier claim. */
export const FIRST_FENCE = 7;

export interface MetRow {
  readonly id: string;
  readonly ruleId: string;
  readonly bookingId: string;
  /** When the click happened that the row may wait for: within its window. */
  readonly factAt: string;
}

/** A row of that person in that state, with a living rule and a booking of its own. */
export async function insertInState(
  db: Db,
  { organizationId, lineOaId }: Tenant,
  { state, userId, linkId }: { state: StateName; userId: string; linkId: string },
): Promise<MetRow> {
  const { status, dueIn, waits }: State = STATES[state];
  const base = sql`${organizationId}::bigint, ${lineOaId}::bigint`;
  const isEnded = status === 'failed' || status === 'cancelled';
  const isClaimed = status === 'processing';
  const { rows } = await db.execute<{ [key in keyof MetRow]: string }>(sql`
    with time as (
      select app_now() + make_interval(mins => ${dueIn}::int) as due, app_now() - make_interval(mins => ${WINDOW_MINUTES}::int) as began
    ), rule as (
      insert into trigger_rule (organization_id, line_oa_id, name, source_type, source_config, action_type, action_config)
      values (${base}, 'rule', 'attribute_changed', '{}', 'send_message', '{}') returning id
    ), booking as (
      insert into booking (organization_id, line_oa_id, user_id, name, starts_at)
      select ${base}, ${userId}, 'cut', due from time returning id
    ), action as (
      insert into scheduled_action (organization_id, line_oa_id, user_id, trigger_rule_id, action_type, action_config, dedup_key, fence,
                                    status, execute_at, due_at, anchor_at, expires_at, delay_spec, anchor_ref, attempt, retry_count,
                                    last_error, cancel_reason, executed_at, claimed_by, claimed_via, lease_until)
      select ${base}, ${userId}, rule.id, 'send_message', '{"messages": [{"type": "text", "text": "hello"}]}', gen_random_uuid(),
             ${FIRST_FENCE}::int, ${status}, due, due, case when ${waits}::boolean then began end, case when ${waits}::boolean then due end,
             case when not ${waits}::boolean then jsonb_build_object('mode', 'relativeToDate', 'to', jsonb_build_object('bookingId', booking.id::text),
                                                                     'offsetSeconds', 0, 'whenPast', 'fire') end,
             case when not ${waits}::boolean then 'booking:' || booking.id end, ${status === 'pending' ? 0 : 1}::int,
             ${status === 'failed' ? 3 : 0}::int, ${status === 'failed' ? 'it broke' : null},
             ${status === 'cancelled' ? 'rule_disabled' : null}, case when ${isEnded}::boolean then app_now() end,
             ${isClaimed ? 'cron-1:slow' : null}, ${isClaimed ? 'queue' : null},
             case when ${isClaimed}::boolean then clock_timestamp() - interval '1 second' end
        from time, rule, booking returning id, user_id, trigger_rule_id
    ), wait as (
      insert into action_wait (organization_id, line_oa_id, user_id, scheduled_action_id, n, source, ref_id, branch)
      select ${base}, user_id, id, 0, 'link', ${linkId}, 'clicked' from action where ${waits}::boolean
    ), history as (
      insert into trigger_log (organization_id, line_oa_id, trigger_rule_id, user_id, trigger_on, decision, reason_code, scheduled_action_id)
      select ${base}, trigger_rule_id, user_id, 'schedule', 'cancelled', 'rule_disabled', id from action where ${status === 'cancelled'}::boolean
    )
    select action.id, rule.id as "ruleId", booking.id as "bookingId", (to_json(began + interval '1 minute') #>> '{}') as "factAt"
      from time, rule, booking, action`);
  const [row] = rows;
  if (row === undefined) throw new Error('the row was not inserted');
  return row;
}

/** A row as JSON, as far as a race judges it. */
export interface RowSeen extends Readonly<Record<string, unknown>> {
  readonly status: ScheduledActionStatus;
  readonly fence: number;
  readonly gen: number;
  readonly branch: string | null;
  readonly expires_at: string | null;
  readonly anchor_ref: string | null;
}

/** A change of a row, as a trigger wrote it down. */
export interface Version {
  readonly before: RowSeen;
  readonly after: RowSeen;
}

/** Every change of the row that was committed, in its order. */
export async function versionsOf(db: Db, { id }: MetRow): Promise<Version[]> {
  const { rows } = await db.$client.query('select before, after from race_version where action_id = $1 order by n', [
    id,
  ]);
  return rows;
}

/** Product time is that of the clock again, and what a race that failed left open is gone. What ended stays for the audit. */
export async function beginAnew(db: Db): Promise<void> {
  await db.$client.query(`
    update product_time_offset set ahead = '0'; delete from scheduled_action where status in ('pending', 'processing')`);
}

export const deadlocks = (db: Db) =>
  columnOf(db, 'select deadlocks from pg_stat_database where datname = current_database()');

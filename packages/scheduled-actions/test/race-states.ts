import type { Delay, Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';
import { columnOf, insertRow } from '@dueline/db/testing';
import { anchorRef, type ScheduledActionStatus } from '@dueline/scheduled-actions';

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

/** A row of that person in that state, with a living rule of its own. */
export async function insertInState(
  db: Db,
  tenant: Tenant,
  { state, userId, linkId }: { state: StateName; userId: string; linkId: string },
): Promise<MetRow> {
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  const { id: ruleId } = await insertRow(db, 'trigger_rule', {
    ...{ ...base, name: 'rule', source_type: 'attribute_changed', source_config: {} },
    ...{ action_type: 'send_message', action_config: {} },
  });
  const { id: bookingId } = await insertRow(db, 'booking', {
    ...{ ...base, user_id: userId, name: 'cut', starts_at: new Date() },
  });
  const ids = { ruleId: String(ruleId), bookingId: String(bookingId) };
  const { id, factAt } = await insertAction(db, { ...base, ...ids, userId, ...STATES[state] });
  if (STATES[state].waits)
    await insertRow(db, 'action_wait', {
      ...{ ...base, user_id: userId, scheduled_action_id: id },
      ...{ n: 0, source: 'link', ref_id: linkId, branch: 'clicked' },
    });
  if (state === 'cancelled')
    await insertRow(db, 'trigger_log', {
      ...{ ...base, user_id: userId, scheduled_action_id: id, trigger_rule_id: ruleId },
      ...{ trigger_on: 'schedule', decision: 'cancelled', reason_code: 'rule_disabled' },
    });
  return { id, ...ids, factAt };
}

async function insertAction(
  db: Db,
  row: State & { organization_id: string; line_oa_id: string; ruleId: string; bookingId: string; userId: string },
): Promise<{ id: string; factAt: string }> {
  const { status, dueIn, waits } = row;
  const isEnded = status === 'failed' || status === 'cancelled';
  const hangsOn: Delay = {
    ...{ mode: 'relativeToDate', to: { bookingId: row.bookingId }, offsetSeconds: 0 },
    ...{ whenPast: 'fire', reEvaluateConditions: false },
  };
  const { rows } = await db.execute<{ id: string; fact_at: string }>(sql`
    insert into scheduled_action (organization_id, line_oa_id, user_id, trigger_rule_id, action_type, action_config, dedup_key, fence,
                                  status, execute_at, due_at, anchor_at, expires_at, attempt, retry_count, last_error, cancel_reason,
                                  executed_at, claimed_by, claimed_via, lease_until, delay_spec, anchor_ref)
    select ${row.organization_id}, ${row.line_oa_id}, ${row.userId}, ${row.ruleId}, 'send_message',
           '{"messages": [{"type": "text", "text": "hello"}]}', gen_random_uuid(), ${FIRST_FENCE}::int, ${status}, due, due,
           case when ${waits}::boolean then began end, case when ${waits}::boolean then due end,
           ${status === 'pending' ? 0 : 1}::int, ${status === 'failed' ? 3 : 0}::int, ${status === 'failed' ? 'it broke' : null},
           ${status === 'cancelled' ? 'rule_disabled' : null}, case when ${isEnded}::boolean then app_now() end,
           ${status === 'processing' ? 'cron-1:slow' : null}, ${status === 'processing' ? 'queue' : null},
           case when ${status === 'processing'}::boolean then clock_timestamp() - interval '1 second' end,
           case when not ${waits}::boolean then ${JSON.stringify(hangsOn)}::jsonb end,
           case when not ${waits}::boolean then ${anchorRef({ bookingId: row.bookingId })} end
      from (select app_now() + make_interval(mins => ${dueIn}::int) as due,
                   app_now() - make_interval(mins => ${WINDOW_MINUTES}::int) as began) as time
    returning id, (to_json(app_now() - make_interval(mins => ${WINDOW_MINUTES - 1}::int)) #>> '{}') as fact_at`);
  const [inserted] = rows;
  if (inserted === undefined) throw new Error('the row was not inserted');
  return { id: inserted.id, factAt: inserted.fact_at };
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

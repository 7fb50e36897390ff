import { column, type Db, type SQL, sql, type Tx } from '@dueline/db';
import { storableText } from '@dueline/kernel';
import { endOfRefusal, insertParts, MOVED_COLUMNS, partsOf, type RefusalEnd } from './split.ts';
import type { StartedDelivery } from './start.ts';
import { isProven, provenRequestId } from './state.ts';
import { type AttemptOutcome, type NextStep, nextStep } from './verdict.ts';

/** What LINE's answer, or its absence, told. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome;
  readonly httpStatus?: number | undefined;
  /** LINE's id of this request. */
  readonly lineRequestId?: string | undefined;
  /** LINE's id of the request that was accepted, when an earlier one was. */
  readonly acceptedRequestId?: string | undefined;
  readonly detail?: string | undefined;
  /** Not to be ended by a refusal, nor asked at the usual pace: planned again after so many milliseconds of product time. */
  readonly holdMs?: number | undefined;
  /** Instead of `holdMs`, while the account is paused: the end of the pause wakes the delivery. */
  readonly whilePausedMs?: number | undefined;
  /** Of a clean refusal, whose fault it is: the content's, for everybody, or that of some of its recipients (unless given). */
  readonly refusedFor?: 'content' | 'recipients' | undefined;
  /** If it is split, how long its parts of a single person wait, in milliseconds of product time. */
  readonly partsWaitMs?: number | undefined;
}

/** One attempt that ended. */
export interface Settlement {
  readonly started: StartedDelivery;
  readonly result: AttemptResult;
}

type SettlementRow = Settlement & { readonly next: NextStep | RefusalEnd };

/**
 * sending -> accepted, refused or planned again, as {@link nextStep} says, together with each attempt's outcome, in one
 * statement; or split, as {@link endOfRefusal} says, and its two parts planned in the same statement.
 *
 * @returns The ids of the deliveries that moved. Of a row that is not this owner's any more (its lease ran out and it was
 * taken back) the attempt's outcome is written, which is evidence whoever owns the row: that LINE accepted the key ends the
 * row as accepted if nobody owns it, and whoever owns it when that owner settles; anything less leaves it as it is.
 * @throws TransientError when the database was not ready: then nothing was written, or everything was and a repeat moves
 * nothing.
 */
export async function settleDeliveries(db: Db | Tx, settlements: readonly Settlement[]): Promise<ReadonlySet<string>> {
  const rows = settlements.map((settlement) => ({ ...settlement, next: stepAfter(settlement) }));
  const split = rows.filter(({ next }) => next.to === 'split');
  const parts = await partsOf(db, split);
  const { held, waitMs } = holdWhilePaused(rows);
  const col = (read: (row: SettlementRow) => string | number | null | undefined, type: 'bigint' | 'integer' | 'text') =>
    column(
      rows.map((row) => read(row) ?? null),
      type,
    );
  const moved = await db.execute<{ id: string }>(sql`
    with verdict as materialized (
      select * from unnest(
        ${col(({ started }) => started.id, 'bigint')}, ${col(({ started }) => started.fence, 'bigint')},
        ${col(({ started }) => started.attemptNo, 'integer')}, ${col(({ started }) => started.retryKey, 'text')},
        ${col(({ next }) => next.to, 'text')},
        ${col(({ next }) => (next.to === 'planned' ? next.waitMs : 0), 'integer')}, ${col(pausedWaitOf, 'integer')},
        ${col(({ next, result }) => ('reasonCode' in next ? next.reasonCode : result.outcome), 'text')},
        ${col(({ result }) => result.outcome, 'text')}, ${col(({ result }) => result.httpStatus, 'integer')},
        ${col(({ result }) => result.lineRequestId, 'text')}, ${col(({ result }) => result.acceptedRequestId, 'text')},
        ${col(({ result }) => (result.detail === undefined ? null : storableText(result.detail)), 'text')})
        as verdict (id, fence, attempt_no, retry_key, next_status, wait_ms, paused_wait_ms, reason_code, outcome, http_status, line_request_id, accepted_request_id, detail)
    )${held}, held as materialized (
      select delivery.id, ${waitMs} as wait_ms,
             case when ${isProven} then 'accepted' else verdict.next_status end as next_status
        from delivery join verdict on delivery.id = verdict.id
       where (delivery.status = 'sending' and delivery.fence = verdict.fence)
          or (delivery.status = 'planned' and verdict.next_status = 'accepted' and delivery.retry_key::text = verdict.retry_key)
       order by delivery.id
         for no key update of delivery
    ), attempts as (
      update delivery_attempt as attempt
         set finished_at = clock_timestamp(), outcome = verdict.outcome, http_status = verdict.http_status,
             line_request_id = verdict.line_request_id, detail = verdict.detail
        from verdict
       where attempt.delivery_id = verdict.id and attempt.attempt_no = verdict.attempt_no and attempt.outcome is null
    ), moved as (
      update delivery
       set status = held.next_status,
           fence = delivery.fence + 1,
           lease_until = null,
           accepted_at = case when held.next_status = 'accepted' then app_now() end,
           line_request_id = case when held.next_status = 'accepted' and verdict.outcome not in ('accepted', 'already')
                                  then ${provenRequestId}
                                  else coalesce(verdict.line_request_id, delivery.line_request_id) end,
           line_accepted_request_id = verdict.accepted_request_id,
           next_attempt_at = app_now() + make_interval(secs => held.wait_ms / 1000.0),
           published_at = case when held.next_status = 'planned' then null else delivery.published_at end,
           announce_count = 0,
           reason_code = case when held.next_status = 'accepted' then null else verdict.reason_code end,
           updated_date = clock_timestamp()
      from verdict join held on held.id = verdict.id
       where delivery.id = verdict.id
      returning ${MOVED_COLUMNS}
    )${parts.length === 0 ? sql`` : insertParts(parts)}
    select id from moved`);
  return new Set(moved.rows.map((row) => row.id));
}

const pausedWaitOf = ({ next, result }: SettlementRow): number | undefined =>
  next.to === 'planned' && result.holdMs !== undefined ? result.whilePausedMs : undefined;

/**
 * Parts of the statement that settles. Whoever waits longer because its account is paused must not do so after the pause: the account is held
 * until the wait is written, so that it is either seen as it is now or woken by whoever ends its pause. Held before any delivery.
 */
function holdWhilePaused(rows: readonly SettlementRow[]): { held: SQL; waitMs: SQL } {
  const ids = rows.flatMap((row) => (pausedWaitOf(row) === undefined ? [] : [row.started.lineOaId]));
  if (ids.length === 0) return { held: sql``, waitMs: sql`verdict.wait_ms` };
  return {
    held: sql`, account as materialized (
      select id, status from line_oa where id = any(${column([...new Set(ids)], 'bigint')}) order by id for share
    )`,
    waitMs: sql`case when delivery.line_oa_id = any(array(select id from account where status <> 'active'))
                     then coalesce(verdict.paused_wait_ms, verdict.wait_ms) else verdict.wait_ms end`,
  };
}

function stepAfter({ started, result }: Settlement): NextStep | RefusalEnd {
  const next = nextStep(result.outcome, { ...started, holdMs: result.holdMs });
  return next.to === 'refused' ? endOfRefusal(started, result) : next;
}

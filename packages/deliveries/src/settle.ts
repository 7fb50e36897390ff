import { type Db, inTransaction, sql } from '@dueline/db';
import { storableText } from '@dueline/kernel';
import type { StartedDelivery } from './start.ts';
import { type AttemptOutcome, nextStep } from './verdict.ts';

/** What LINE's answer, or its absence, told. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome;
  readonly httpStatus?: number | undefined;
  /** LINE's id of this request. */
  readonly lineRequestId?: string | undefined;
  /** LINE's id of the request that was accepted, when an earlier one was. */
  readonly acceptedRequestId?: string | undefined;
  readonly detail?: string | undefined;
}

/**
 * sending -> accepted, refused or planned again, as {@link nextStep} says, together with the attempt's outcome.
 *
 * @returns False when the row is not this owner's any more (its lease ran out and it was taken back): then only the
 * attempt's outcome is written, which is evidence whoever owns the row.
 */
export async function settleDelivery(db: Db, started: StartedDelivery, result: AttemptResult): Promise<boolean> {
  const next = nextStep(result.outcome, started);
  const waitMs = next.to === 'planned' ? next.waitMs : 0;
  return inTransaction(db, async (tx) => {
    const { rowCount } = await tx.execute(sql`
      update delivery
         set status = ${next.to},
             fence = fence + 1,
             lease_until = null,
             accepted_at = case when ${next.to} = 'accepted' then app_now() end,
             line_request_id = coalesce(${result.lineRequestId ?? null}, line_request_id),
             line_accepted_request_id = ${result.acceptedRequestId ?? null},
             next_attempt_at = app_now() + make_interval(secs => ${waitMs / 1_000}),
             published_at = case when ${next.to} = 'planned' then null else published_at end,
             announce_count = 0,
             reason_code = ${next.to === 'accepted' ? null : result.outcome},
             updated_date = clock_timestamp()
       where id = ${started.id} and fence = ${started.fence} and status = 'sending'`);
    await tx.execute(sql`
      update delivery_attempt
         set finished_at = clock_timestamp(), outcome = ${result.outcome}, http_status = ${result.httpStatus ?? null},
             line_request_id = ${result.lineRequestId ?? null},
             detail = ${result.detail === undefined ? null : storableText(result.detail)}
       where delivery_id = ${started.id} and attempt_no = ${started.attemptNo} and outcome is null`);
    return rowCount === 1;
  });
}

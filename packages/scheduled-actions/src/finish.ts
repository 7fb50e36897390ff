import type { Ticket } from '@dueline/contracts';
import { column, type SQL, sql, type Tx } from '@dueline/db';
import { fullJitterMs, storableText } from '@dueline/kernel';
import type { Claim } from './claim.ts';
import { maxRetries } from './state.ts';

/** What the decision made of a row it holds; `branch`: which way it went, if it has none yet. */
export type ActionOutcome = Ticket &
  (
    | { readonly to: 'done'; readonly branch?: string | null }
    | { readonly to: 'cancelled'; readonly reason: string; readonly branch?: string | null }
    | { readonly to: 'failed'; readonly error: string }
    | { readonly to: 'pending'; readonly error: string; readonly retryInMs: number }
    | { readonly to: 'deferred'; readonly until: Until }
  );

/**
 * Until when a row is put off. `at`: that instant, RFC 3339. `lateness`: as long as it is late already, but a minute at least and an
 * hour at most, so that what waits long is looked at seldom. `claimable`: it stays due, and the claim leaves it alone.
 */
export type Until = { readonly at: string } | 'lateness' | 'claimable';

/**
 * processing -> what each outcome says, for rows whose fence still fits. `pending` counts a retry and moves the row to
 * `retryInMs` from now; `deferred` is pending too, at a later time, and gives the try back.
 * Returns the ids that moved: what follows from a decision may be written for these only.
 *
 * The status is compared as an expression, so that each row is found by its id: by the index of rows in processing, which statistics
 * hold to be empty, the planner would read all of them for each batch.
 */
export const finishActions = (tx: Tx, outcomes: readonly ActionOutcome[]): Promise<ReadonlySet<string>> =>
  finish(tx, outcomes, { from: sql`action.status || '' = 'processing'`, tries: 0, claim: sql`` });

/**
 * The same for rows that holdDue locked in this transaction, which are still `pending`: the claim and its end in one write. Says who
 * decided them, as a claim does.
 */
export const finishDue = (
  tx: Tx,
  outcomes: readonly ActionOutcome[],
  { claimedBy, via }: Pick<Claim, 'claimedBy' | 'via'>,
): Promise<ReadonlySet<string>> =>
  finish(tx, outcomes, {
    from: sql`action.status || '' = 'pending'`,
    tries: 1,
    claim: sql`claimed_by = ${claimedBy}, claimed_via = ${via},`,
  });

async function finish(
  tx: Tx,
  outcomes: readonly ActionOutcome[],
  { from, tries, claim }: { from: SQL; tries: number; claim: SQL },
): Promise<ReadonlySet<string>> {
  if (outcomes.length === 0) return new Set();
  const col = (
    read: (outcome: ActionOutcome) => string | number | null,
    type: 'bigint' | 'text' | 'integer' | 'timestamptz',
  ) => column(outcomes.map(read), type);
  const { rows } = await tx.execute<{ id: string }>(sql`
    update scheduled_action as action
       set status = case when outcome.result = 'deferred' then 'pending' else outcome.result end,
           fence = action.fence + 1, ${claim}
           lease_until = null,
           executed_at = case when outcome.result not in ('pending', 'deferred') then app_now() end,
           cancel_reason = outcome.reason,
           branch = coalesce(action.branch, outcome.branch),
           last_error = case when outcome.result = 'deferred' then action.last_error else outcome.error end,
           retry_count = action.retry_count + case when outcome.result = 'pending' then 1 else 0 end,
           attempt = action.attempt + ${tries}::int - case when outcome.result = 'deferred' then 1 else 0 end,
           execute_at = case when outcome.result = 'pending' then app_now() + make_interval(secs => outcome.retry_ms / 1000.0)
                             when outcome.until = 'lateness'
                             then app_now() + least(interval '1 hour', greatest(interval '1 minute', app_now() - action.due_at))
                             else coalesce(outcome.until_at, action.execute_at) end,
           updated_at = clock_timestamp()
      from unnest(
        ${col((outcome) => outcome.id, 'bigint')}, ${col((outcome) => outcome.fence, 'bigint')},
        ${col((outcome) => outcome.to, 'text')},
        ${col((outcome) => (outcome.to === 'cancelled' ? outcome.reason : null), 'text')},
        ${col((outcome) => ('error' in outcome ? storableText(outcome.error) : null), 'text')},
        ${col((outcome) => (outcome.to === 'pending' ? outcome.retryInMs : 0), 'integer')},
        ${col((outcome) => ('branch' in outcome ? (outcome.branch ?? null) : null), 'text')},
        ${col((outcome) => (outcome.to === 'deferred' && typeof outcome.until === 'string' ? outcome.until : null), 'text')},
        ${col((outcome) => (outcome.to === 'deferred' && typeof outcome.until === 'object' ? outcome.until.at : null), 'timestamptz')})
        as outcome (id, fence, result, reason, error, retry_ms, branch, until, until_at)
     where action.id = outcome.id and action.fence = outcome.fence and ${from}
    returning action.id`);
  return new Set(rows.map((row) => row.id));
}

/** Back-off of failed decisions: full jitter of min(10 min, 5 s · 2^n). */
const RETRY = { baseMs: 5_000, capMs: 600_000 };

/**
 * What a decision that threw makes of its row: another try while retries are left (maxRetries), else `failed`. Pure but for jitter.
 *
 * @param failure.fatal Whether trying again cannot help.
 */
export function failedDecision(
  { id, fence, retryCount }: Ticket & { retryCount: number },
  { error, fatal }: { error: string; fatal: boolean },
): ActionOutcome {
  if (fatal || retryCount >= maxRetries) return { id, fence, to: 'failed', error };
  return { id, fence, to: 'pending', error, retryInMs: fullJitterMs(retryCount, RETRY) };
}

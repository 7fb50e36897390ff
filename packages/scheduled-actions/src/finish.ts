import type { Ticket } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { fullJitterMs, storableText } from '@dueline/kernel';
import { maxRetries } from './state.ts';

/** What the decision made of a row it holds; `branch`: which way it went, if it has none yet. */
export type ActionOutcome = Ticket &
  (
    | { readonly to: 'done'; readonly branch?: string | null }
    | { readonly to: 'cancelled'; readonly reason: string; readonly branch?: string | null }
    | { readonly to: 'failed'; readonly error: string }
    | { readonly to: 'pending'; readonly error: string; readonly retryInMs: number }
  );

/**
 * processing -> what each outcome says, for rows whose fence still fits. `pending` counts a retry and moves the row to
 * `retryInMs` from now. Returns the ids that moved: what follows from a decision may be written for these only.
 */
export async function finishActions(tx: Tx, outcomes: readonly ActionOutcome[]): Promise<ReadonlySet<string>> {
  if (outcomes.length === 0) return new Set();
  const col = (read: (outcome: ActionOutcome) => string | number | null, type: 'bigint' | 'text' | 'integer') =>
    column(outcomes.map(read), type);
  const { rows } = await tx.execute<{ id: string }>(sql`
    update scheduled_action as action
       set status = outcome.status,
           fence = action.fence + 1,
           lease_until = null,
           executed_at = case when outcome.status <> 'pending' then app_now() end,
           cancel_reason = outcome.reason,
           last_error = outcome.error,
           branch = coalesce(action.branch, outcome.branch),
           retry_count = action.retry_count + case when outcome.status = 'pending' then 1 else 0 end,
           execute_at = case when outcome.status = 'pending'
                             then app_now() + make_interval(secs => outcome.retry_ms / 1000.0) else action.execute_at end,
           updated_at = clock_timestamp()
      from unnest(
        ${col((outcome) => outcome.id, 'bigint')}, ${col((outcome) => outcome.fence, 'bigint')},
        ${col((outcome) => outcome.to, 'text')},
        ${col((outcome) => (outcome.to === 'cancelled' ? outcome.reason : null), 'text')},
        ${col((outcome) => ('error' in outcome ? storableText(outcome.error) : null), 'text')},
        ${col((outcome) => (outcome.to === 'pending' ? outcome.retryInMs : 0), 'integer')},
        ${col((outcome) => ('branch' in outcome ? (outcome.branch ?? null) : null), 'text')})
        as outcome (id, fence, status, reason, error, retry_ms, branch)
     where action.id = outcome.id and action.fence = outcome.fence and action.status = 'processing'
    returning action.id`);
  return new Set(rows.map((row) => row.id));
}

/** Back-off of failed decisions: full jitter of min(10 min, 5 s · 2^n). */
const RETRY = { baseMs: 5_000, capMs: 600_000 };

/** What a decision that threw makes of its row: another try while retries are left (maxRetries), else `failed`. Pure but for jitter. */
export function failedDecision(
  { id, fence, retryCount }: Ticket & { retryCount: number },
  error: string,
): ActionOutcome {
  if (retryCount >= maxRetries) return { id, fence, to: 'failed', error };
  return { id, fence, to: 'pending', error, retryInMs: fullJitterMs(retryCount, RETRY) };
}

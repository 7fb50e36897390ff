import type { Ticket } from '@dueline/contracts';
import {
  type Alongside,
  arrayLiteral,
  given,
  kindsOf,
  type SQL,
  type Statement,
  sql,
  statement,
  type Tx,
} from '@dueline/db';
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
 * What is written for the rows that really move, in the statement that moves them. `sends` reads `moved (n, id, organization_id, line_oa_id,
 * trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config, gen)`, where `n` is the place of the outcome
 * among those given, from 1 on, and gives `(scheduled_action_id, id, fence)` of what it made; `history` reads `moved`, and those as `sent`.
 */
export interface AlongsideFinish {
  readonly sends: Alongside;
  readonly history: Alongside;
}

/** Rows that moved, by id, each with the ticket of what `sends` made for it. */
export type Finished = ReadonlyMap<string, Ticket | undefined>;

/**
 * processing -> what each outcome says, for rows whose fence still fits. `pending` counts a retry and moves the row to
 * `retryInMs` from now; `deferred` is pending too, at a later time, and gives the try back.
 * Returns the ids that moved: what follows from a decision may be written for these only.
 */
export const finishActions = async (tx: Tx, outcomes: readonly ActionOutcome[]): Promise<ReadonlySet<string>> =>
  idsOf(await finishActionsWith(tx, outcomes));

/** The same, with what goes along. */
export const finishActionsWith = (tx: Tx, outcomes: readonly ActionOutcome[], along?: AlongsideFinish) =>
  finish(tx, outcomes, { from: 'processing', values: {}, along });

/**
 * The same for rows that holdDue locked in this transaction, which are still `pending`: the claim and its end in one write. Says who
 * decided them, as a claim does.
 */
export const finishDue = async (
  tx: Tx,
  outcomes: readonly ActionOutcome[],
  by: Decider,
): Promise<ReadonlySet<string>> => idsOf(await finishDueWith(tx, outcomes, { by }));

/** The same, with what goes along. */
export const finishDueWith = (
  tx: Tx,
  outcomes: readonly ActionOutcome[],
  { by: { claimedBy, via }, along }: { readonly by: Decider; readonly along?: AlongsideFinish | undefined },
) => finish(tx, outcomes, { from: 'pending', values: { claimed_by: claimedBy, claimed_via: via }, along });

type Decider = Pick<Claim, 'claimedBy' | 'via'>;
const idsOf = (finished: Finished): ReadonlySet<string> => new Set(finished.keys());

interface Finish {
  readonly from: 'pending' | 'processing';
  readonly values: Readonly<Record<string, string>>;
  readonly along: AlongsideFinish | undefined;
}

async function finish(tx: Tx, outcomes: readonly ActionOutcome[], { from, values, along }: Finish): Promise<Finished> {
  if (outcomes.length === 0) return new Map();
  const { places, kinds } = kindsOf(outcomes, kindOf);
  const rows = await statementFor(from, along)(tx, {
    ...values,
    ...along?.sends.values,
    ...along?.history.values,
    ids: arrayLiteral(outcomes.map(({ id }) => id)),
    fences: arrayLiteral(outcomes.map(({ fence }) => fence)),
    kind_of: places,
    kinds,
  });
  return new Map(
    rows.map(({ id, sent_id, sent_fence }) => [
      id,
      sent_id === null || sent_fence === null ? undefined : { id: sent_id, fence: sent_fence },
    ]),
  );
}

/** An outcome but for whose it is: those of a batch are mostly alike. */
const kindOf = (outcome: ActionOutcome) => ({
  result: outcome.to,
  reason: outcome.to === 'cancelled' ? outcome.reason : undefined,
  error: 'error' in outcome ? storableText(outcome.error) : undefined,
  retry_ms: outcome.to === 'pending' ? outcome.retryInMs : undefined,
  branch: 'branch' in outcome ? (outcome.branch ?? undefined) : undefined,
  until: outcome.to === 'deferred' && typeof outcome.until === 'string' ? outcome.until : undefined,
  until_at: outcome.to === 'deferred' && typeof outcome.until === 'object' ? outcome.until.at : undefined,
});

type FinishStatement = Statement<
  { id: string; sent_id: string | null; sent_fence: string | null },
  Readonly<Record<string, string>>
>;

/** By what goes along: each is a statement of its own, and there are few. */
const statements = {
  pending: new Map<SQL | undefined, FinishStatement>(),
  processing: new Map<SQL | undefined, FinishStatement>(),
};

function statementFor(from: Finish['from'], along: AlongsideFinish | undefined): FinishStatement {
  const known = statements[from].get(along?.history.template);
  if (known !== undefined) return known;
  const moved = from === 'pending' ? MOVE_DUE : MOVE_CLAIMED;
  const built: FinishStatement = statement(
    along === undefined
      ? sql`with moved as (${moved}) select id, null as sent_id, null as sent_fence from moved`
      : sql`
    with moved as (${moved}), sent as (${along.sends.template}), told as (${along.history.template})
    select moved.id, sent.id as sent_id, sent.fence as sent_fence
      from moved full join sent on sent.scheduled_action_id = moved.id`, // full: it cannot be a nested loop
  );
  statements[from].set(along?.history.template, built);
  return built;
}

/**
 * The status is compared as an expression, so that each row is found by its id: by the index of rows in processing, which statistics
 * hold to be empty, the planner would read all of them for each batch.
 */
const move = ({ from, tries, claim }: { from: SQL; tries: SQL; claim: SQL }): SQL => sql`
    update scheduled_action as action
       set status = case when kind.result = 'deferred' then 'pending' else kind.result end,
           fence = action.fence + 1, ${claim}
           lease_until = null,
           executed_at = case when kind.result not in ('pending', 'deferred') then app_now() end,
           cancel_reason = kind.reason,
           branch = coalesce(action.branch, kind.branch),
           last_error = case when kind.result = 'deferred' then action.last_error else kind.error end,
           retry_count = action.retry_count + case when kind.result = 'pending' then 1 else 0 end,
           attempt = action.attempt + ${tries} - case when kind.result = 'deferred' then 1 else 0 end,
           execute_at = case when kind.result = 'pending' then app_now() + make_interval(secs => kind.retry_ms / 1000.0)
                             when kind.until = 'lateness'
                             then app_now() + least(interval '1 hour', greatest(interval '1 minute', app_now() - action.due_at))
                             else coalesce(kind.until_at, action.execute_at) end,
           updated_at = clock_timestamp()
      from unnest(${given('ids')}::bigint[], ${given('fences')}::bigint[], ${given('kind_of')}::integer[]) with ordinality
             as outcome (id, fence, place, n)
      join rows from (json_to_recordset(${given('kinds')}::json) as (
             result text, reason text, error text, retry_ms integer, branch text, until text, until_at timestamptz)) with ordinality
             as kind (result, reason, error, retry_ms, branch, until, until_at, n) on kind.n = outcome.place + 1
     where action.id = outcome.id and action.fence = outcome.fence and ${from}
    returning outcome.n, action.id, action.organization_id, action.line_oa_id, action.trigger_rule_id, action.rule_version, action.event_id,
              action.root_id, action.user_id, action.action_type, action.action_config, action.gen`;

const MOVE_CLAIMED = move({ from: sql`action.status || '' = 'processing'`, tries: sql`0`, claim: sql`` });
const MOVE_DUE = move({
  from: sql`action.status || '' = 'pending'`,
  tries: sql`1`,
  claim: sql`claimed_by = ${given('claimed_by')}, claimed_via = ${given('claimed_via')},`,
});

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

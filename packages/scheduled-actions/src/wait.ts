import type { Tenant, WaitSource } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { anchoredIds, type MovedAnchor } from './anchor.ts';

/** Something that happened to a person, as far as waits care. */
export interface Fact extends Tenant {
  readonly userId: string;
  readonly source: WaitSource;
  /** Which link, form, booking or attribute. */
  readonly refId: string | null;
  /** When it happened by product time, RFC 3339: what counts for a deadline, however late it is told. */
  readonly occurredAt: string;
  readonly eventId: string;
}

/**
 * What a fact meant to a row that waited for it. `completed`: it ended the wait. `deciding`: the row is claimed, and its decision
 * looks at the facts itself. `late`: the wait was over, by its deadline or because it had gone its way.
 */
export interface WaitMet extends Tenant {
  readonly scheduledActionId: string;
  readonly userId: string;
  readonly triggerRuleId: string | null;
  readonly ruleVersion: number | null;
  readonly eventId: string;
  readonly result: 'completed' | 'deciding' | 'late';
  /** The branch that the wait took; null: none, because it is not decided or was cancelled. */
  readonly branch: string | null;
}

type MetRow = {
  id: string;
  organization_id: string;
  line_oa_id: string;
  user_id: string;
  trigger_rule_id: string | null;
  rule_version: number | null;
  event_id: string;
  result: WaitMet['result'];
  branch: string | null;
};

/**
 * Ends waits early: a row that waits for one of these facts, which happened within [anchor_at, expires_at), takes the branch
 * of the earliest of them and is due at once, in lane 0. Runs nothing; the caller wakes the claimers after its commit.
 *
 * A wait goes one way once: of two facts, and of a fact and the expiry, the row lock decides. A fact of somebody else, or
 * about something else, meets nothing. Locks in id order. The caller holds the locks of the facts' users, so that a wait that is being made at
 * this moment sees the fact, or is seen here.
 */
export async function checkAndCompleteDelayWait(tx: Tx, facts: readonly Fact[]): Promise<WaitMet[]> {
  if (facts.length === 0) return [];
  const { rows } = await tx.execute<MetRow>(sql`
    with met as materialized (
      select distinct on (action_id) action_id, event_id, occurred_at, branch
        from (select wait.scheduled_action_id as action_id, wait.n, wait.branch, fact.event_id, fact.occurred_at
                from ${waitsFor(facts)}
                join scheduled_action as action on action.id = wait.scheduled_action_id
               where fact.occurred_at >= action.anchor_at) as hit
       order by action_id, occurred_at, n
    ), locked as materialized (
      select action.id, action.branch,
             case when action.branch is not null or met.occurred_at >= action.expires_at then 'late'
                  when action.status = 'pending' then 'completed'
                  when action.status = 'processing' then 'deciding'
                  else 'late' end as result
        from scheduled_action as action join met on met.action_id = action.id
       order by action.id
         for no key update of action
    ), completed as (
      update scheduled_action as action
         set branch = met.branch, execute_at = app_now(), due_at = app_now(), lane = 0, fence = action.fence + 1, updated_at = clock_timestamp()
        from locked join met on met.action_id = locked.id
       where locked.result = 'completed' and action.id = locked.id
      returning action.id, action.branch
    )
    select action.id, action.organization_id, action.line_oa_id, action.user_id, action.trigger_rule_id, action.rule_version,
           met.event_id, locked.result, coalesce(completed.branch, locked.branch) as branch
      from met join locked on locked.id = met.action_id join scheduled_action as action on action.id = met.action_id
      left join completed on completed.id = action.id
     order by action.id`);
  return rows.map(parseMet);
}

/** The waits `wait` that each `fact` is about. */
const waitsFor = (facts: readonly Fact[]) => sql`
  ${factRows(facts)}
  join action_wait as wait
    on wait.line_oa_id = fact.line_oa_id and wait.organization_id = fact.organization_id
   and wait.user_id = fact.user_id and wait.source = fact.source
   and (wait.ref_id is null or wait.ref_id = fact.ref_id)`;

/**
 * Locks, in id order, what {@link checkAndCompleteDelayWait} and {@link recomputeAnchored} will lock one after the other: for a
 * transaction that calls both, because what one locks first may be younger than what the other locks, and who decides a batch of both, or
 * edits it, goes by id. The caller holds the locks of the users, so that nothing is added in between.
 */
export async function lockToldActions(
  tx: Tx,
  { facts, moved }: { facts: readonly Fact[]; moved: readonly MovedAnchor[] },
): Promise<void> {
  if (facts.length === 0 || moved.length === 0) return;
  await tx.execute(sql`
    select from scheduled_action
     where id = any(array(select wait.scheduled_action_id from ${waitsFor(facts)} union ${anchoredIds(moved)}))
     order by id
       for no key update`);
}

const parseMet = (row: MetRow): WaitMet => ({
  scheduledActionId: row.id,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  userId: row.user_id,
  triggerRuleId: row.trigger_rule_id,
  ruleVersion: row.rule_version,
  eventId: row.event_id,
  result: row.result,
  branch: row.branch,
});

function factRows(facts: readonly Fact[]) {
  const col = (read: (fact: Fact) => string | null, type: 'bigint' | 'text' | 'timestamptz' | 'uuid') =>
    column(facts.map(read), type);
  return sql`unnest(
    ${col((fact) => fact.organizationId, 'bigint')}, ${col((fact) => fact.lineOaId, 'bigint')},
    ${col((fact) => fact.userId, 'text')}, ${col((fact) => fact.source, 'text')}, ${col((fact) => fact.refId, 'text')},
    ${col((fact) => fact.occurredAt, 'timestamptz')}, ${col((fact) => fact.eventId, 'uuid')})
    as fact (organization_id, line_oa_id, user_id, source, ref_id, occurred_at, event_id)`;
}

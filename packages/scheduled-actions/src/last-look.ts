import { column, type Db, sql, type Tx } from '@dueline/db';
import { wakeDue } from './wake.ts';

/**
 * Joins rows `action` that wait, each with its `wait` of action_wait, with `fact (occurred_at)`: the first fact that ends the wait,
 * happened within [anchor_at, expires_at). The same facts as those that consumers tell to checkAndCompleteDelayWait: clicks by
 * people, submissions, bookings made, attributes that changed, people who followed. Reads the tables of facts.
 */
const firstFact = sql`cross join lateral (
  select min(occurred_at) as occurred_at from (
    select occurred_at from link_click as fact
     where wait.source = 'link' and not is_robot and ${ofPerson()}
       and (wait.ref_id is null or tracked_link_id = case when wait.source = 'link' then wait.ref_id::bigint end)
    union all
    select occurred_at from form_submission as fact
     where wait.source = 'form' and ${ofPerson()}
       and (wait.ref_id is null or form_id = case when wait.source = 'form' then wait.ref_id::bigint end)
    union all
    select occurred_at from booking_event as fact
     where wait.source = 'booking' and type = 'created' and ${ofPerson()}
       and (wait.ref_id is null or booking_id = case when wait.source = 'booking' then wait.ref_id::bigint end)
    union all
    select occurred_at from attribute_change as fact
     where wait.source = 'attribute' and changed ? wait.ref_id and ${ofPerson()}
    union all
    select occurred_at from friend_track_event as fact
     where wait.source = 'friend' and type = 'follow' and ${ofPerson()}) as happened) as fact`;

function ofPerson() {
  return sql`fact.line_oa_id = wait.line_oa_id and fact.user_id = wait.user_id
       and fact.occurred_at >= action.anchor_at and fact.occurred_at < action.expires_at`;
}

/** The branch of the earliest fact of each row `action`, whose ids are given, as rows (id, branch). */
const branchesByFact = (action: ReturnType<typeof sql>) => sql`
  select distinct on (action.id) action.id, wait.branch
    from ${action} join action_wait as wait on wait.scheduled_action_id = action.id ${firstFact}
   where fact.occurred_at is not null
   order by action.id, fact.occurred_at, wait.n`;

/** How far back the sweep looks, in minutes of product time: it comes each minute, and one look after the commit is enough. */
const SWEEP_MINUTES = 3;
/** Rows per statement, so that a crowd is no long one. */
const ROWS_PER_LOOK = 1_000;

/**
 * Ends waits whose fact is older than their row: nobody tells it again. For rows that were made without locks, after the commit
 * that made them (`ids`), and for all that were made lately (without `ids`, the minute sweep; what it misses, the decision of the
 * row sees). A row that somebody holds is left out: it is being decided, or somebody tells it a fact. Returns the rows that are
 * due now; the claimers are woken.
 */
export async function lookForFacts(db: Db | Tx, ids?: readonly string[]): Promise<string[]> {
  const all = ids ?? (await waitsMadeLately(db));
  const met: string[] = [];
  for (let at = 0; at < all.length; at += ROWS_PER_LOOK)
    met.push(...(await endMet(db, all.slice(at, at + ROWS_PER_LOOK))));
  if (met.length > 0) await wakeDue(db);
  return met;
}

async function waitsMadeLately(db: Db | Tx): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select id from scheduled_action
     where status = 'pending' and branch is null and anchor_at is not null
       and anchor_at > app_now() - make_interval(mins => ${SWEEP_MINUTES})
     order by id`);
  return rows.map(({ id }) => id);
}

async function endMet(db: Db | Tx, ids: readonly string[]): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    with waiting as materialized (
      select id, anchor_at, expires_at from scheduled_action
       where status = 'pending' and branch is null and anchor_at is not null and id = any(${column(ids, 'bigint')})
    ), met as materialized (
      ${branchesByFact(sql`waiting as action`)}
    ), locked as materialized (
      select action.id from scheduled_action as action join met using (id)
       where action.status = 'pending' and action.branch is null
       order by action.id
         for no key update of action skip locked
    )
    update scheduled_action as action
       set branch = met.branch, execute_at = app_now(), due_at = app_now(), lane = 0, fence = action.fence + 1, updated_at = clock_timestamp()
      from locked join met using (id) where action.id = locked.id
    returning action.id`);
  return rows.map(({ id }) => id);
}

/**
 * The last look of a decision: which of these waiting rows, held by the caller, had their fact in time, and its branch. The row
 * lock is enough: whoever tells a fact waits for it, and then finds the wait over.
 */
export async function lastLook(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const { rows } = await tx.execute<{ id: string; branch: string }>(
    branchesByFact(
      sql`(select id, anchor_at, expires_at from scheduled_action where id = any(${column(ids, 'bigint')})) as action`,
    ),
  );
  return new Map(rows.map(({ id, branch }) => [id, branch]));
}

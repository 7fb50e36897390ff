import type { Tenant, Ticket } from '@dueline/contracts';
import { column, errorCode, sql, type Tx, ticketRows } from '@dueline/db';
import { lookForFacts } from '../last-look.ts';
import { wakeDue } from '../wake.ts';
import { assignmentsOf, snapshot } from './change.ts';
import type { ActionOperation } from './operation.ts';
import { type Refusal, refusalUnderFence } from './refusal.ts';

/** What a cancel of deliveries found; deliveries has the function, the app hands it over. */
export interface StoppedDelivery {
  readonly scheduledActionId: string;
  /** `cancelled`: it will not be sent; `sent`: LINE accepted it; `in_doubt`: on its way, or nobody knows; `ended`: it had ended. */
  readonly result: 'cancelled' | 'sent' | 'in_doubt' | 'ended';
}

/** Cancels what of the messages of actions that are done has not left yet, in the caller's transaction. */
export type CancelDeliveries = (
  tx: Tx,
  scope: { tenant: Tenant; scheduledActionIds: readonly string[] },
) => Promise<readonly StoppedDelivery[]>;

/** Is told in the caller's transaction which actions run anew (un-cancelled, revived), and who wanted it. */
export type OnRunAnew = (
  tx: Tx,
  scope: { tenant: Tenant; scheduledActionIds: readonly string[]; by: string },
) => Promise<unknown>;

/** Who changes something, and why. */
export interface Author {
  readonly by: string;
  readonly why?: string | undefined;
}

/** What became of one action: changed under its new fence, only its message stopped, or left as it is. */
export type OperationOutcome = { readonly id: string } & (
  | { readonly result: 'changed'; readonly fence: string }
  | { readonly result: 'delivery_cancelled' }
  | { readonly result: 'refused'; readonly refusal: Refusal; readonly fence: string | null }
);

export interface Application extends Author {
  readonly tenant: Tenant;
  readonly operation: ActionOperation;
  /** The rows with the fence that the person saw, at most 500. */
  readonly tickets: readonly Ticket[];
  readonly cancelDeliveries: CancelDeliveries;
  readonly onRunAnew?: OnRunAnew | undefined;
}

const UNIQUE_VIOLATION = '23505';

/**
 * Carries out a resolved operation on rows under the fence that the person saw, with its audit trail, in the caller's
 * transaction of the tenant. Locks in id order, and waits for whoever decides one of them: the row lock says who came first.
 */
export async function applyOperation(tx: Tx, application: Application): Promise<OperationOutcome[]> {
  const { operation } = application;
  const tickets = application.tickets.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  await lockActions(tx, tickets);
  const outcomes = await changeEach(tx, { ...application, tickets });
  if (operation.kind === 'cancel') return stopDeliveries(tx, application, outcomes);
  const changed = outcomes.flatMap(({ id, result }) => (result === 'changed' ? [id] : []));
  if (changed.length === 0) return outcomes;
  await wakeDue(tx);
  return operation.kind === 'uncancel' || operation.kind === 'revive'
    ? startAnew(tx, application, { changed, outcomes })
    : outcomes;
}

/**
 * What happened while it was ended was told to nobody: a wait that runs anew meets the facts in its window at once, under yet another
 * fence; one that a person gave a time meets them then.
 */
async function startAnew(
  tx: Tx,
  { tenant, operation, by, onRunAnew }: Application,
  { changed, outcomes }: { changed: readonly string[]; outcomes: readonly OperationOutcome[] },
): Promise<OperationOutcome[]> {
  await onRunAnew?.(tx, { tenant, scheduledActionIds: changed, by });
  const met = 'at' in operation && operation.at !== undefined ? [] : await lookForFacts(tx, changed);
  return outcomes.map((outcome) =>
    outcome.result === 'changed' && met.includes(outcome.id)
      ? { ...outcome, fence: String(BigInt(outcome.fence) + 1n) }
      : outcome,
  );
}

/**
 * One by one (LATERAL), in the order of the tickets: behind row level security the planner may take a tenant for one row, and would
 * read all of its rows for any set of ids.
 */
async function lockActions(tx: Tx, tickets: readonly Ticket[]): Promise<void> {
  const ids = column(
    tickets.map(({ id }) => id),
    'bigint',
  );
  await tx.execute(sql`
    select from unnest(${ids}) as seen (id)
     cross join lateral (select from scheduled_action where scheduled_action.id = seen.id for no key update) as held`);
}

/** All at once, or one by one when somebody else took the key of one of them in between. */
async function changeEach(tx: Tx, application: Application): Promise<OperationOutcome[]> {
  try {
    return await tx.transaction((savepoint) => change(savepoint, application));
  } catch (error) {
    if (errorCode(error) !== UNIQUE_VIOLATION) throw error;
    const [only, ...others] = application.tickets;
    if (only === undefined) return [];
    if (others.length === 0) return [{ id: only.id, result: 'refused', refusal: 'already_pending', fence: only.fence }];
    const outcomes: OperationOutcome[] = [];
    for (const ticket of application.tickets) {
      outcomes.push(...(await changeEach(tx, { ...application, tickets: [ticket] })));
    }
    return outcomes;
  }
}

type ChangedRow = { id: string; refusal: Refusal | null; seen: string | null; fence: string | null };

/** A statement of its own after the locks, so that it sees what it locked. Only what differs goes into the audit trail. */
async function change(tx: Tx, { tenant, operation, tickets, by, why }: Application): Promise<OperationOutcome[]> {
  const { rows } = await tx.execute<ChangedRow>(sql`
    with judged as materialized (
      select ticket.id, action.fence as seen, ${snapshot} as before, ${refusalUnderFence(operation)} as refusal
        from ${ticketRows(tickets)}
        left join lateral (select * from scheduled_action where scheduled_action.id = ticket.id offset 0) as action on true
    ), changed as (
      update scheduled_action as action
         set ${assignmentsOf(operation)}, fence = action.fence + 1, updated_at = clock_timestamp()
       where action.id = any(array(select id from judged where refusal is null))
      returning action.id, action.fence, ${snapshot} as after
    ), written as (
      insert into scheduled_action_edit (scheduled_action_id, organization_id, line_oa_id, operation, before, after, edited_by, reason)
      select id, ${tenant.organizationId}, ${tenant.lineOaId}, ${operation.kind},
             (select jsonb_object_agg(key, value) from jsonb_each(before) where value is distinct from after -> key),
             (select jsonb_object_agg(key, value) from jsonb_each(after) where value is distinct from before -> key),
             ${by}, ${why ?? null}
        from changed join judged using (id) order by id
    )
    select judged.id, judged.refusal, judged.seen, changed.fence
      from judged left join changed on changed.id = judged.id
     order by judged.id`);
  return rows.map(({ id, refusal, seen, fence }) => {
    if (fence !== null) return { id, result: 'changed', fence };
    return { id, result: 'refused', refusal: refusal ?? 'changed', fence: seen };
  });
}

/** What was to be cancelled and is done: its message is cancelled instead, while that has not left. */
async function stopDeliveries(
  tx: Tx,
  { tenant, cancelDeliveries, by, why }: Application,
  outcomes: readonly OperationOutcome[],
): Promise<OperationOutcome[]> {
  const done = outcomes.filter((outcome) => outcome.result === 'refused' && outcome.refusal === 'done');
  if (done.length === 0) return [...outcomes];
  const stopped = await cancelDeliveries(tx, { tenant, scheduledActionIds: done.map(({ id }) => id) });
  const results = new Map(stopped.map(({ scheduledActionId, result }) => [scheduledActionId, result]));
  const cancelled = [...results].flatMap(([id, result]) => (result === 'cancelled' ? [id] : []));
  await tx.execute(sql`
    insert into scheduled_action_edit (scheduled_action_id, organization_id, line_oa_id, operation, before, after, edited_by, reason)
    select id, ${tenant.organizationId}, ${tenant.lineOaId}, 'cancel', '{"delivery": "planned"}', '{"delivery": "cancelled"}', ${by},
           ${why ?? null}
      from unnest(${column(cancelled, 'bigint')}) as id order by id`);
  return outcomes.map((outcome) => {
    const result = results.get(outcome.id);
    if (result === 'cancelled') return { id: outcome.id, result: 'delivery_cancelled' };
    if (outcome.result !== 'refused' || result === undefined || result === 'ended') return outcome;
    return { ...outcome, refusal: result === 'sent' ? 'already_sent' : 'maybe_sent' };
  });
}

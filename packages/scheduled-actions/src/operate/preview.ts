import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, type SQL, sql, type Tx } from '@dueline/db';
import { newToken, tokenDigest } from '@dueline/kernel';
import type { ScheduledActionStatus } from '../state.ts';
import type { Author } from './apply.ts';
import { nextExecuteAt } from './change.ts';
import { type ActionFilter, actionFilter, whereOf } from './filter.ts';
import { type ActionOperation, parseOrRefuse, resolveOperation } from './operation.ts';
import { type Refusal, refusalOf } from './refusal.ts';
import { asInstant } from './view.ts';

/** Rows changed in one transaction. Source: at most 500 rows are locked at once. */
const ROWS_PER_STEP = 500;
/** How long a preview may be confirmed, in minutes of product time: as long as somebody looks at it. */
const CONFIRM_WITHIN_MINUTES = 15;
/** Actions that are shown of a preview. */
const SAMPLES = 5;

/** What an operation would do to many actions, as they are now. */
export interface OperationPreview {
  /** What it means now: times as instants. */
  readonly operation: ActionOperation;
  /** Actions that the filter names. */
  readonly matched: number;
  /** Those that it would change, */
  readonly moves: number;
  /** and how many of these a worker has taken up, so that they may be decided before they are changed. */
  readonly beingDecided: number;
  /** Done already, with a message that is still on its way; the filter apart from the status. */
  readonly beingSent: number;
  /** Those that it would leave as they are, by reason. */
  readonly refused: Readonly<Partial<Record<Refusal, number>>>;
  /** The first of those that it would change. */
  readonly samples: readonly PreviewSample[];
  /** Confirms exactly this; null when nothing would change. */
  readonly token: string | null;
  readonly confirmUntil: string | null;
}

export interface PreviewSample {
  readonly id: string;
  readonly userId: string;
  readonly ruleName: string | null;
  readonly executeAt: string;
  /** When it would be due. */
  readonly nextExecuteAt: string;
}

const OPEN = ['pending', 'processing'] as const;
/** What an operation is meant for, when the filter does not say. */
const STATUSES: Readonly<Record<ActionOperation['kind'], readonly ScheduledActionStatus[]>> = {
  edit: OPEN,
  postpone: OPEN,
  fire_now: OPEN,
  cancel: OPEN,
  uncancel: ['cancelled'],
  revive: ['failed'],
};

/**
 * Shows what an operation would do to all actions that a filter names, and remembers which rows under which fences these are,
 * so that its confirmation changes exactly them. Changes nothing.
 *
 * @throws PermanentError when filter or operation are wrong: what, where.
 */
export async function previewOperation(
  db: Db,
  tenant: Tenant,
  { filter, operation, by, why }: Author & { filter: ActionFilter; operation: ActionOperation },
): Promise<OperationPreview> {
  const valid = parseOrRefuse('filter', actionFilter, filter);
  return inTenant(db, tenant, async (tx) => {
    const resolved = await resolveOperation(tx, tenant, operation);
    const where = await whereOf(tx, tenant, { filter: valid, statuses: valid.statuses ?? STATUSES[resolved.kind] });
    const token = newToken();
    await forgetOld(tx);
    const row = await remember(tx, { where, operation: resolved, tenant, digest: tokenDigest(token), by, why });
    const anyStatus = await whereOf(tx, tenant, { filter: valid, statuses: undefined });
    const { confirmUntil, ...shown } = row;
    return {
      ...shown,
      operation: resolved,
      beingSent: await countBeingSent(tx, anyStatus),
      token: confirmUntil === null ? null : token,
      confirmUntil,
    };
  });
}

/** Previews that nobody can confirm any more. */
async function forgetOld(tx: Tx): Promise<void> {
  await tx.execute(sql`delete from action_operation where expires_at < app_now() - interval '7 days'`);
}

interface Remembered {
  readonly where: SQL;
  readonly operation: ActionOperation;
  readonly tenant: Tenant;
  readonly digest: string;
  readonly by: string;
  readonly why: string | undefined;
}

type Counted = Pick<OperationPreview, 'matched' | 'moves' | 'beingDecided' | 'refused' | 'samples' | 'confirmUntil'>;

/** Done and asked to be cancelled: its message may still be stopped. Whether it can be is known only when it is tried. */
const isStoppable = sql`(action.status = 'done' and exists (
  select from delivery where delivery.kind = 'action' and delivery.logical_id = action.id::text and delivery.status = 'planned'))`;

/** Counts, samples and the remembered rows are of one statement, and so of one moment. */
async function remember(tx: Tx, { where, operation, tenant, digest, by, why }: Remembered): Promise<Counted> {
  const refusal =
    operation.kind === 'cancel'
      ? sql`case when not ${isStoppable} then ${refusalOf(operation)} end`
      : refusalOf(operation);
  const { rows } = await tx.execute<{ [key in keyof Counted]: Counted[key] }>(sql`
    with matched as materialized (
      select action.id, action.fence, action.status, action.execute_at, ${refusal} as refusal
        from scheduled_action as action
       where ${where}
    ), operation as (
      insert into action_operation (organization_id, line_oa_id, token_sha256, operation, previewed_by, reason, expires_at)
      select ${tenant.organizationId}, ${tenant.lineOaId}, ${digest}, ${JSON.stringify(operation)}::jsonb, ${by}, ${why ?? null},
             app_now() + make_interval(mins => ${CONFIRM_WITHIN_MINUTES})
       where exists (select from matched where refusal is null)
      returning id, expires_at
    ), steps as (
      insert into action_operation_step (operation_id, n, organization_id, line_oa_id, action_ids, fences)
      select (select id from operation), n, ${tenant.organizationId}, ${tenant.lineOaId}, array_agg(id order by id),
             array_agg(fence order by id)
        from (select id, fence, (row_number() over (order by id) - 1) / ${ROWS_PER_STEP}::bigint as n
                from matched where refusal is null) as numbered
       group by n
    ), samples as (
      select action.id::text as id, action.user_id as "userId", rule.name as "ruleName",
             action.execute_at as "executeAt", ${nextExecuteAt(operation)} as "nextExecuteAt"
        from (select id from matched where refusal is null order by execute_at, id limit ${SAMPLES}) as first
        join scheduled_action as action on action.id = first.id
        left join trigger_rule as rule on rule.id = action.trigger_rule_id
       order by action.execute_at, action.id
    )
    select count(*)::int as matched,
           (count(*) filter (where refusal is null))::int as moves,
           (count(*) filter (where refusal is null and status = 'processing'))::int as "beingDecided",
           (select coalesce(jsonb_object_agg(refusal, times), '{}')
              from (select refusal, count(*) as times from matched where refusal is not null group by refusal) as counted) as refused,
           (select coalesce(jsonb_agg(to_jsonb(samples)), '[]') from samples) as samples,
           (select ${asInstant(sql`expires_at`)} from operation) as "confirmUntil"
      from matched`);
  if (rows[0] === undefined) throw new Error('a count returned no row');
  return rows[0];
}

/** From the few deliveries on their way to their actions: the other way round would read all that was ever done. */
async function countBeingSent(tx: Tx, where: SQL): Promise<number> {
  const { rows } = await tx.execute<{ count: number }>(sql`
    select count(*)::int as count
      from delivery join scheduled_action as action on action.id = delivery.scheduled_action_id
     where delivery.kind = 'action' and delivery.status in ('planned', 'sending') and action.status = 'done' and ${where}`);
  return Number(rows[0]?.count);
}

import type { Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';

/** What the emergency stop halts: one account, or every account of an organization. */
export type StopTarget = { readonly lineOaId: string } | { readonly organizationId: string };

/** Who did it, and why; kept in audit_log. */
export interface Signed {
  readonly by: string;
  readonly reason: string | null;
}

/** What resuming makes of the actions that were held up: do them all at once, none of them, or over some minutes. */
export const RESUME_HOW = ['catch_up', 'skip', 'spread'] as const;
export type ResumeHow = (typeof RESUME_HOW)[number];

/** What a stop holds up. */
export interface Stop {
  /** When it began and what time it is, by product time. */
  readonly since: string;
  readonly until: string;
  /** The accounts that resuming sets free: those of a stopped organization that are not stopped themselves, and the other way round. */
  readonly tenants: readonly Tenant[];
}

const nameOf = (target: StopTarget): string =>
  'lineOaId' in target ? `account ${target.lineOaId}` : `organization ${target.organizationId}`;

const targetRow = (target: StopTarget) =>
  'lineOaId' in target
    ? { table: sql`line_oa`, id: target.lineOaId, columns: sql`organization_id, id as line_oa_id` }
    : {
        table: sql`organization`,
        id: target.organizationId,
        columns: sql`id as organization_id, null::bigint as line_oa_id`,
      };

/**
 * The emergency stop: from the commit on nothing of the target is claimed and no delivery or campaign of it started; what LINE is being
 * asked at this moment ends as it ends.
 *
 * @throws PermanentError when the target does not exist or is stopped already.
 */
export async function stopAccount(tx: Tx, target: StopTarget, { by, reason }: Signed): Promise<void> {
  const { table, id, columns } = targetRow(target);
  const { rowCount } = await tx.execute(sql`
    with stopped as (
      update ${table} set stopped_at = app_now() where id = ${id} and stopped_at is null and deleted_date is null
      returning ${columns}, stopped_at
    )
    insert into audit_log (organization_id, line_oa_id, operation, before, after, done_by, reason)
    select organization_id, line_oa_id, 'stop', '{"stoppedAt": null}', jsonb_build_object('stoppedAt', stopped_at), ${by}, ${reason}
      from stopped`);
  if (rowCount === 0) throw new PermanentError(`${nameOf(target)} does not exist or is stopped already`);
}

/**
 * What a stop holds up, for whoever prepares the end of it.
 *
 * @throws PermanentError when the target does not exist or is not stopped.
 */
export async function getStop(tx: Tx, target: StopTarget): Promise<Stop> {
  const { table, id } = targetRow(target);
  const { rows } = await tx.execute<{ since: string; until: string }>(sql`
    select stopped_at::text as since, app_now()::text as until from ${table} where id = ${id} and stopped_at is not null`);
  const [stop] = rows;
  if (stop === undefined) throw new PermanentError(`${nameOf(target)} does not exist or is not stopped`);
  const isMeant =
    'lineOaId' in target
      ? sql`line_oa.id = ${id} and organization.stopped_at is null`
      : sql`line_oa.organization_id = ${id} and line_oa.stopped_at is null`;
  const accounts = await tx.execute<{ organization_id: string; line_oa_id: string }>(sql`
    select line_oa.organization_id, line_oa.id as line_oa_id
      from line_oa join organization on organization.id = line_oa.organization_id
     where ${isMeant} order by line_oa.id`);
  const tenants = accounts.rows.map((row) => ({ organizationId: row.organization_id, lineOaId: row.line_oa_id }));
  return { ...stop, tenants };
}

/**
 * Ends the emergency stop. What becomes of the actions held up is the caller's to arrange before, while nothing is claimed yet; `how`
 * and `count` are what it did, for the audit trail.
 *
 * @throws PermanentError when the target does not exist or is not stopped.
 */
export async function resumeAccount(
  tx: Tx,
  target: StopTarget,
  { by, reason, how, count }: Signed & { readonly how: ResumeHow; readonly count: number },
): Promise<void> {
  const { table, id, columns } = targetRow(target);
  const { rowCount } = await tx.execute(sql`
    with stopped as materialized (
      select ${columns}, stopped_at from ${table} where id = ${id} and stopped_at is not null for no key update
    ), resumed as (
      update ${table} set stopped_at = null where id = ${id} and exists (select from stopped)
    )
    insert into audit_log (organization_id, line_oa_id, operation, before, after, done_by, reason)
    select organization_id, line_oa_id, 'resume', jsonb_build_object('stoppedAt', stopped_at),
           jsonb_build_object('stoppedAt', null, 'how', ${how}::text, 'actions', ${count}::int), ${by}, ${reason}
      from stopped`);
  if (rowCount === 0) throw new PermanentError(`${nameOf(target)} does not exist or is not stopped`);
}

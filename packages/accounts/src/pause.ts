import type { Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import type { Signed } from './stop.ts';

/**
 * Why nothing clean of an account is sent. `monthly_limit`: LINE's numbers leave no room for the request; `held_back`: they do, and it is
 * refused all the same for too long; `token_refused`: LINE takes none of its tokens; `forbidden`: the account may not do this;
 * `by_person`.
 */
export type PauseReason = 'monthly_limit' | 'held_back' | 'token_refused' | 'forbidden' | 'by_person';

const STATUS_OF = {
  monthly_limit: 'paused_quota',
  held_back: 'paused_quota',
  token_refused: 'paused_auth',
  forbidden: 'paused_auth',
  by_person: 'paused_by_person',
} as const satisfies Record<PauseReason, string>;

/** What LINE told of the month, and how many messages the request wanted that it refused. */
export interface Shortage {
  /** Messages of the month; null: LINE names no limit. */
  readonly quota: number | null;
  readonly used: number | null;
  readonly wanted: number;
}

export interface Pause extends Signed {
  readonly reasonCode: PauseReason;
  readonly shortage?: Shortage | undefined;
}

/**
 * Pauses an account: from the commit on no delivery of it is started but those in doubt, whose keys are asked for until LINE tells. A
 * person's pause takes the place of another one, and is ended by a person only.
 *
 * @returns Whether this call paused it; false: it was paused already, or is not there.
 */
export async function pauseAccount(tx: Tx, tenant: Tenant, pause: Pause): Promise<boolean> {
  const { reasonCode, shortage, by, reason } = pause;
  const status = STATUS_OF[reasonCode];
  const from = reasonCode === 'by_person' ? sql`status <> 'paused_by_person'` : sql`status = 'active'`;
  const { rowCount } = await tx.execute(sql`
    with held as materialized (
      select id, organization_id, status from line_oa
       where id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId} and deleted_date is null and ${from}
         for no key update
    ), paused as (
      update line_oa set status = ${status} from held where line_oa.id = held.id
    ), noted as (
      insert into account_trouble (organization_id, line_oa_id, paused_at, reason_code, quota, used, wanted)
      select organization_id, id, app_now(), ${reasonCode}, ${shortage?.quota ?? null}::bigint, ${shortage?.used ?? null}::bigint,
             ${shortage?.wanted ?? null}::integer from held
          on conflict (line_oa_id) do update
         set paused_at = excluded.paused_at, reason_code = excluded.reason_code, quota = excluded.quota, used = excluded.used,
             wanted = excluded.wanted, looked_at = clock_timestamp()
    )
    insert into audit_log (organization_id, line_oa_id, operation, before, after, done_by, reason)
    select organization_id, id, 'pause', jsonb_build_object('status', status),
           jsonb_build_object('status', ${status}::text, 'reasonCode', ${reasonCode}::text), ${by}, ${reason} from held`);
  return rowCount === 1;
}

/**
 * Ends a pause: deliveries start again from the commit on. A stop is another thing and stays.
 *
 * @param options.reasonCode Only if the account is paused for this reason; whatever it is when not given.
 * @returns Whether this call ended it; false: it was not paused so.
 */
export async function unpauseAccount(
  tx: Tx,
  tenant: Tenant,
  { by, reason, reasonCode }: Signed & { readonly reasonCode?: PauseReason },
): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    with held as materialized (
      select line_oa.id, line_oa.organization_id, status, reason_code
        from line_oa left join account_trouble as trouble on trouble.line_oa_id = line_oa.id
       where line_oa.id = ${tenant.lineOaId} and line_oa.organization_id = ${tenant.organizationId} and status <> 'active'
         and ${reasonCode === undefined ? sql`true` : sql`reason_code = ${reasonCode}`}
         for no key update of line_oa
    ), freed as (
      update line_oa set status = 'active' from held where line_oa.id = held.id
    ), noted as (
      update account_trouble as trouble
         set paused_at = null, reason_code = null, quota = null, used = null, wanted = null, throttled_since = null, throttled_at = null
        from held where trouble.line_oa_id = held.id
    )
    insert into audit_log (organization_id, line_oa_id, operation, before, after, done_by, reason)
    select organization_id, id, 'unpause', jsonb_build_object('status', status, 'reasonCode', reason_code), '{"status": "active"}',
           ${by}, ${reason} from held`);
  return rowCount === 1;
}

import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';
import type { PauseReason } from './pause.ts';

/** An account as an operator names it. */
export interface AccountName extends Tenant {
  readonly name: string;
  /** IANA zone of its local times. */
  readonly timezone: string;
}

/** Whether an account sends, and what keeps it from it. */
export interface AccountState extends AccountName {
  readonly status: 'active' | 'paused_auth' | 'paused_quota' | 'paused_by_person';
  /** Why it is paused; null: it is not. */
  readonly reasonCode: PauseReason | null;
  /** RFC 3339, product time. */
  readonly pausedAt: string | null;
  /** Whether the emergency stop holds it or its organization. */
  readonly isStopped: boolean;
  readonly isBreakerOpen: boolean;
}

/** The living accounts of all organizations, in id order. */
export async function listAccounts(db: Db): Promise<AccountName[]> {
  const { rows } = await db.execute<{ [key in keyof AccountName]: AccountName[key] }>(sql`
    select organization_id as "organizationId", id as "lineOaId", name, timezone
      from line_oa where deleted_date is null order by id`);
  return rows;
}

/** The same with what keeps them from sending. */
export async function listAccountStates(db: Db): Promise<AccountState[]> {
  const { rows } = await db.execute<{ [key in keyof AccountState]: AccountState[key] }>(sql`
    select line_oa.organization_id as "organizationId", line_oa.id as "lineOaId", line_oa.name, timezone, status,
           reason_code as "reasonCode", to_json(paused_at) #>> '{}' as "pausedAt",
           line_oa.stopped_at is not null or organization.stopped_at is not null as "isStopped",
           breaker_until is not null as "isBreakerOpen"
      from line_oa
      join organization on organization.id = line_oa.organization_id
      left join account_trouble on account_trouble.line_oa_id = line_oa.id
     where line_oa.deleted_date is null order by line_oa.id`);
  return rows;
}

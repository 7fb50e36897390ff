import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';

/** An account as an operator names it. */
export interface AccountName extends Tenant {
  readonly name: string;
  /** IANA zone of its local times. */
  readonly timezone: string;
}

/** The living accounts of all organizations, in id order. */
export async function listAccounts(db: Db): Promise<AccountName[]> {
  const { rows } = await db.execute<{ [key in keyof AccountName]: AccountName[key] }>(sql`
    select organization_id as "organizationId", id as "lineOaId", name, timezone
      from line_oa where deleted_date is null order by id`);
  return rows;
}

import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';

const BATCH = 2_000;

/**
 * Lets what an account has planned be announced at once, however often it was announced in vain: its pause is over. In batches, leaving out
 * what others hold; whatever is missed is announced again within ten minutes. Returns how many.
 */
export async function wakeDeliveries(db: Db, tenant: Tenant): Promise<number> {
  let woken = 0;
  for (let after: string | undefined = '0'; after !== undefined; ) {
    const ids = await wakeSome(db, tenant, after);
    woken += ids.length;
    after = ids.length < BATCH ? undefined : ids.at(-1);
  }
  return woken;
}

async function wakeSome(db: Db, { organizationId, lineOaId }: Tenant, after: string): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    with asleep as materialized (
      select id from delivery
       where status = 'planned' and published_at is not null and line_oa_id = ${lineOaId} and organization_id = ${organizationId}
         and id > ${after}
       order by id limit ${BATCH}
         for no key update skip locked
    ), woken as (
      update delivery set published_at = null, announce_count = 0 from asleep where delivery.id = asleep.id
    )
    select id from asleep order by id`);
  return rows.map(({ id }) => id);
}

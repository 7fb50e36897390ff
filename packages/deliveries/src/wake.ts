import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';

const BATCH = 2_000;

/** What LINE did not serve for the account's sake, and waits at its pace: up to an hour where it is in doubt. */
const isHeld = sql`(reason_code in ('throttled', 'auth') and next_attempt_at > app_now())`;

/**
 * Lets what an account has planned be announced at once, however often it was announced in vain, and what LINE did not serve be asked for now:
 * its pause is over. In batches, leaving out what others hold; whatever is missed is announced again within ten minutes. Returns how many.
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
       where status = 'planned' and (published_at is not null or ${isHeld}) and line_oa_id = ${lineOaId} and organization_id = ${organizationId}
         and id > ${after}
       order by id limit ${BATCH}
         for no key update skip locked
    ), woken as (
      update delivery
         set published_at = null, announce_count = 0, next_attempt_at = case when ${isHeld} then app_now() else next_attempt_at end
        from asleep where delivery.id = asleep.id
    )
    select id from asleep order by id`);
  return rows.map(({ id }) => id);
}

import { column, inTransaction, sql } from '@dueline/db';
import { purgeQueues } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { type Account, type Product, userOfNumber } from './product.ts';

const POLL_MS = 20;
const MESSAGES = JSON.stringify([{ type: 'text', text: 'Our autumn menu is here. '.repeat(8) }]);

/** An audience of so many people for each account. */
export async function fillAudiences(product: Product, people: number): Promise<void> {
  for (const { organizationId, lineOaId } of product.accounts) {
    await inTransaction(product.database.db, async (tx) => {
      await tx.execute(sql`set local session_replication_role = replica`);
      await tx.execute(sql`
        insert into line_user (organization_id, line_oa_id, user_id)
        select ${organizationId}, ${lineOaId}, ${userOfNumber(sql`n`)} from generate_series(0, ${people}::int - 1) as n
            on conflict do nothing`);
      await tx.execute(sql`
        with audience as (
          insert into audience (organization_id, line_oa_id, name) values (${organizationId}, ${lineOaId}, 'bench') returning id
        )
        insert into audience_member (audience_id, organization_id, line_oa_id, user_id)
        select audience.id, ${organizationId}, ${lineOaId}, ${userOfNumber(sql`n`)}
          from audience cross join generate_series(0, ${people}::int - 1) as n`);
    });
  }
  await product.database.db.$client.query('vacuum analyze line_user, audience_member');
}

/** Takes away the campaigns of earlier rounds, and what they left. */
export async function clearCampaigns(product: Product): Promise<void> {
  await purgeQueues(product.place);
  await product.database.db.$client.query('truncate campaign, delivery cascade');
}

/** A campaign of each account to its audience, due at once. @returns When, by the database's clock, in milliseconds of the epoch. */
export async function sendToAudiences({ database }: Product): Promise<number> {
  const { rows } = await database.db.execute<{ ms: number }>(sql`
    insert into campaign (organization_id, line_oa_id, name, cast_type, audience_id, messages, status, start_date, fence)
    select organization_id, line_oa_id, 'bench', 'multicast', id, ${MESSAGES}, 'scheduled', app_now(), 1 from audience order by id
    returning (extract(epoch from start_date) * 1000)::float8 as ms`);
  return rows[0]?.ms ?? Number.NaN;
}

/** A broadcast of an account at each of these instants, in milliseconds of the epoch. @returns Their ids, in that order. */
export async function scheduleBroadcasts(
  { database }: Product,
  { organizationId, lineOaId }: Account,
  instants: readonly number[],
): Promise<string[]> {
  const { rows } = await database.db.execute<{ id: string }>(sql`
    insert into campaign (organization_id, line_oa_id, name, cast_type, messages, status, start_date, fence)
    select ${organizationId}, ${lineOaId}, 'bench', 'broadcast', ${MESSAGES}, 'scheduled', to_timestamp(ms / 1000.0), 1
      from unnest(${column(instants, 'float8')}) with ordinality as wanted (ms, n) order by n
    returning id`);
  return rows.map(({ id }) => id);
}

/** Accepted requests of campaigns so far. */
export async function acceptedChunks({ database }: Product): Promise<number> {
  const { rows } = await database.db.$client.query<{ count: number }>(
    `select count(*)::int as count from delivery where status = 'accepted'`,
  );
  return rows[0]?.count ?? 0;
}

/** Resolves when every campaign is at its end, with when the last was, by the database's clock. @throws Error when that takes longer. */
export async function untilClosed({ database }: Product, timeoutMs: number): Promise<number> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { rows } = await database.db.$client.query<{ open: number; ms: number }>(`
      select count(*) filter (where status in ('scheduled', 'sending'))::int as open,
             (extract(epoch from max(updated_date)) * 1000)::float8 as ms from campaign`);
    if (rows[0]?.open === 0) return rows[0].ms;
    if (performance.now() > deadline) throw new Error(`not every campaign was sent in ${timeoutMs} ms`);
    await sleep(POLL_MS);
  }
}

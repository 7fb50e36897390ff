import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { announceDeliveries, closeOverdueDeliveries, renewDeliveries } from '@dueline/deliveries';
import { afterAll, beforeAll, expect, test } from 'vitest';

const PLANNED = 200_000;
const PER_STATEMENT = 20_000;

let own: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  await own.db.$client.query('alter table delivery set (autovacuum_enabled = off)');
  const announced = { publishedAt: 'clock_timestamp() - make_interval(secs => n % 30)', times: 'n % 8' };
  for (let n = 0; n < PLANNED; n += PER_STATEMENT) await insertPlanned({ count: PER_STATEMENT, ...announced });
}, 120_000);
afterAll(() => own[Symbol.asyncDispose]());

/** Due rows; `publishedAt` and `times` are SQL over their number `n`. */
const insertPlanned = ({ count, publishedAt, times = '0' }: { count: number; publishedAt: string; times?: string }) =>
  own.db.$client.query(
    `insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, retry_key, body, body_sha256, deliver_until,
                           published_at, announce_count)
     select $1, $2, 'action', gen_random_uuid(), 'push', gen_random_uuid(), '{}', '', app_now() + interval '1 hour', ${publishedAt}, ${times}
       from generate_series(1, ${count}) as n`,
    [tenant.organizationId, tenant.lineOaId],
  );

/** Rows of the table that `work` read, as the server counts them. */
async function rowsRead(work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await own.db.$client.query('select pg_stat_force_next_flush()');
    const [count] = await columnOf(
      own.db,
      `select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_all_tables where relid = 'delivery'::regclass`,
    );
    return Number(count);
  };
  const before = await read();
  await work();
  return (await read()) - before;
}

test.for(['un-analyzed', 'analyzed'])(
  'what is planned, announced and waits for its turn costs the sweeps nothing, however much it is (%s)',
  { timeout: 120_000 },
  async (prepare) => {
    if (prepare === 'analyzed') await own.db.$client.query('analyze delivery');
    await insertPlanned({ count: 30, publishedAt: 'null' });
    await insertPlanned({ count: 20, publishedAt: `clock_timestamp() - interval '601 s'` });
    const announce = () => announceDeliveries(own.db, { limit: 500, againAfterSeconds: 600 });

    const read = await rowsRead(async () => {
      expect(await announce()).toHaveLength(50);
      expect(await announce()).toEqual([]);
      expect(await inTransaction(own.db, closeOverdueDeliveries)).toEqual([]);
      expect(await inTransaction(own.db, renewDeliveries)).toBe(0);
    });

    expect(read).toBeLessThan(1_000);
  },
);

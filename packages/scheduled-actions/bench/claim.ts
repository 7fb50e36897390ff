// How fast claims drain a backlog, and how late a click of another account is beside a crowd: the claim as it is, and the plain one
// (oldest due first, nobody's share), in pairs. node packages/scheduled-actions/bench/claim.ts <postgres url> [rows] [crowd]
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, migrate, openDatabase, sql } from '@dueline/db';
import { claimBatch, createDueAccounts } from '@dueline/scheduled-actions';

const [, , adminUrl = '', rowsText = '20000', crowdText = '300000'] = process.argv;
const rows = Number(rowsText);
const crowd = Number(crowdText);
const LIMIT = 500;
const ROUNDS = 3;

type Claims = (db: Db) => Promise<number>;

/** Claims as one claimer makes them, one after the other. */
const WAYS: Readonly<Record<string, () => Claims>> = {
  plain: () => async (db) => {
    const { rowCount } = await db.execute(sql`
      with due as materialized (
        select id from scheduled_action where status = 'pending' and execute_at <= app_now()
         order by execute_at, id limit ${LIMIT} for no key update skip locked
      )
      update scheduled_action as action
         set status = 'processing', fence = action.fence + 1, attempt = action.attempt + 1, claimed_by = 'bench:1', claimed_via = 'inline',
             lease_until = clock_timestamp() + make_interval(secs => ${300}), updated_at = clock_timestamp()
       where action.id = any(array(select id from due))
      returning action.id, action.fence, action.organization_id, action.line_oa_id`);
    return rowCount ?? 0;
  },
  fair: () => {
    const accounts = createDueAccounts();
    const claim = {
      claimedBy: 'bench:1',
      via: 'inline',
      limit: LIMIT,
      leaseSeconds: 300,
      overdueMs: 0,
      accounts,
    } as const;
    return async (db) => (await claimBatch(db, { ...claim, maxProcessing: Number.MAX_SAFE_INTEGER })).length;
  },
};

async function insertTenants(db: Db, count: number): Promise<Tenant[]> {
  const { rows: found } = await db.execute<{ organization_id: string; id: string }>(sql`
    with made as (insert into organization (name) select n::text from generate_series(1, ${count}::int) as n returning id, name)
    insert into line_oa (organization_id, channel_id, name) select id, name, name from made returning organization_id, id`);
  return found.map((row) => ({ organizationId: row.organization_id, lineOaId: row.id }));
}

async function fill(
  db: Db,
  tenants: readonly Tenant[],
  { count, lane }: { count: number; lane: number },
): Promise<void> {
  const column = (read: (tenant: Tenant) => string) => sql`${sql.param(tenants.map(read))}::bigint[]`;
  await inTransaction(db, async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.execute(sql`
      insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, lane, execute_at, due_at, dedup_key)
      select (${column((tenant) => tenant.organizationId)})[1 + n % ${tenants.length}::int], (${column((tenant) => tenant.lineOaId)})[1 + n % ${tenants.length}::int],
             'U', 'send_message', '{}', ${lane}::smallint, at, at, gen_random_uuid()
        from generate_series(0, ${count}::int - 1) as n, lateral (select app_now() - interval '1 minute' + make_interval(secs => n / 1e4)) as x (at)`);
  });
}

const emptied = (db: Db) => db.$client.query('truncate scheduled_action cascade');

/** Rows per second until nothing is left. */
async function drain(db: Db, claim: Claims): Promise<number> {
  const startedAt = performance.now();
  let sum = 0;
  for (let claimed = await claim(db); claimed > 0; claimed = await claim(db)) sum += claimed;
  if (sum !== rows) throw new Error(`${sum} of ${rows} rows were claimed`);
  return rows / ((performance.now() - startedAt) / 1_000);
}

/** Milliseconds of a claim that finds nothing, and of one that finds one row. */
async function single(db: Db, tenant: Tenant, claim: Claims): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 200; n += 1) {
    await fill(db, [tenant], { count: 1, lane: 1 });
    const startedAt = performance.now();
    await claim(db);
    times.push(performance.now() - startedAt);
  }
  return times.sort((left, right) => left - right)[100] ?? Number.NaN;
}

/** Milliseconds from a click of another account until it is claimed, while the crowd is drained. */
async function clickBesideCrowd(db: Db, clicker: Tenant): Promise<{ p50: number; max: number }> {
  const accounts = createDueAccounts();
  const claim = {
    claimedBy: 'bench:1',
    via: 'inline',
    limit: LIMIT,
    leaseSeconds: 300,
    overdueMs: 0,
    accounts,
  } as const;
  const waits: number[] = [];
  for (let n = 0; n < 40; n += 1) {
    const going = claimBatch(db, { ...claim, maxProcessing: Number.MAX_SAFE_INTEGER });
    await fill(db, [clicker], { count: 1, lane: 0 });
    const clickedAt = performance.now();
    accounts.wake();
    let tickets = await going;
    while (!tickets.some(({ lineOaId }) => lineOaId === clicker.lineOaId))
      tickets = await claimBatch(db, { ...claim, maxProcessing: Number.MAX_SAFE_INTEGER });
    waits.push(performance.now() - clickedAt);
  }
  waits.sort((left, right) => left - right);
  return { p50: waits[20] ?? Number.NaN, max: waits.at(-1) ?? Number.NaN };
}

const open = (url: string) =>
  openDatabase({
    url,
    applicationName: 'bench',
    maxConnections: 4,
    onError: () => undefined,
    statementTimeoutMs: 300_000,
  });

const name = `bench_${process.pid}`;
const admin = open(adminUrl);
await admin.db.$client.query(`create database ${name}`);
const target = new URL(adminUrl);
target.pathname = `/${name}`;
const { db, close } = open(target.href);
try {
  await migrate({ url: target.href });
  const [alone, ...others] = await insertTenants(db, 201);
  if (alone === undefined) throw new Error('no tenant');
  await db.$client.query('analyze');
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const [accounts, of] of [
      ['1 account', [alone]],
      ['200 accounts', others],
    ] as const) {
      for (const [way, make] of Object.entries(WAYS)) {
        await emptied(db);
        await fill(db, of, { count: rows, lane: 1 });
        await db.$client.query('analyze scheduled_action');
        console.info(`round ${round}  ${accounts}  ${way}: ${(await drain(db, make())).toFixed(0)} rows/s`);
      }
    }
    for (const [way, make] of Object.entries(WAYS)) {
      await emptied(db);
      console.info(`round ${round}  a single row  ${way}: ${(await single(db, alone, make())).toFixed(2)} ms`);
    }
  }
  await emptied(db);
  await fill(db, [alone], { count: crowd, lane: 1 });
  await db.$client.query('analyze scheduled_action');
  const { p50, max } = await clickBesideCrowd(db, others[0] ?? alone);
  console.info(
    `a click beside ${crowd} rows of another account that are due: p50 ${p50.toFixed(1)} ms, max ${max.toFixed(1)} ms`,
  );
} finally {
  await close();
  await admin.db.$client.query(`drop database ${name} with (force)`);
  await admin.close();
}

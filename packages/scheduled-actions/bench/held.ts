// What a held snapshot costs the claims and looks of a drain: the same backlog drained with and without one, in pairs, autovacuum off.
// node packages/scheduled-actions/bench/held.ts <postgres url> [rows] [lane] [backlog, of all of them]
import { type Db, migrate, openDatabase, sql } from '@dueline/db';
import { type Claim, claimBatch, createDueAccounts, dueWithin } from '@dueline/scheduled-actions';

const [, , adminUrl = '', rowsText = '200000', laneText = '1', only = ''] = process.argv;
const rows = Number(rowsText);
const lane = Number(laneText);
const LIMIT = 500;
/** Claims at the end of the drain that are told of. */
const TOLD = 60;

const BACKLOGS = { 'over a day': 86_400, 'over ten minutes': 600, 'at one instant': 0 };

async function fill(db: Db, overSeconds: number): Promise<void> {
  await db.$client.query('truncate scheduled_action cascade; set session_replication_role = replica');
  await db.execute(sql`
    insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, lane, execute_at, due_at, dedup_key)
    select organization_id, id, 'U' || n, 'send_message', '{}', ${lane}::smallint, at, at, gen_random_uuid()
      from line_oa, generate_series(1, ${rows + LIMIT * TOLD}::int) as n,
           lateral (select app_now() - make_interval(secs => 1 + ${overSeconds}::float8 * (1 - n / ${rows + LIMIT * TOLD}::float8))) as x (at)`);
  await db.$client.query('set session_replication_role = origin; analyze scheduled_action; checkpoint');
}

async function blocks(db: Db): Promise<number> {
  await db.$client.query('select pg_stat_force_next_flush()');
  const { rows: told } = await db.execute<{ hits: string }>(sql`
    select heap_blks_hit + idx_blks_hit + heap_blks_read + idx_blks_read as hits from pg_statio_user_tables where relname = 'scheduled_action'`);
  return Number(told[0]?.hits);
}

const middle = (times: readonly number[]) =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;

/** One claimer, claim after claim; what it claims is finished at once. */
async function drain(db: Db, via: Claim['via']): Promise<string> {
  const accounts = createDueAccounts();
  const claim = { claimedBy: 'bench:1', via, limit: LIMIT, leaseSeconds: 300, overdueMs: 0, accounts } as const;
  const maxProcessing = via === 'inline' ? Number.MAX_SAFE_INTEGER : 50_000;
  const times: number[] = [];
  const startedAt = performance.now();
  let before = 0;
  for (let left = rows + LIMIT * TOLD; left > 0; ) {
    if (left === LIMIT * TOLD) before = await blocks(db);
    const claimedAt = performance.now();
    const tickets = await claimBatch(db, { ...claim, maxProcessing });
    times.push(performance.now() - claimedAt);
    left -= tickets.length;
    if (tickets.length === 0) throw new Error('nothing was claimed');
    await db.execute(sql`
      update scheduled_action set status = 'done', lease_until = null, executed_at = app_now(), fence = fence + 1
       where id = any(${sql.param(tickets.map(({ id }) => id))}::bigint[])`);
  }
  const told = times.slice(-TOLD);
  const perClaim = (await blocks(db)) - before;
  const lookedAt = performance.now();
  await dueWithin(db, 2_000, { accounts });
  const firstLookMs = performance.now() - lookedAt;
  const lookedAgainAt = performance.now();
  await dueWithin(db, 2_000, { accounts });
  return (
    `claim p50 ${middle(told).toFixed(1)} ms, max ${Math.max(...told).toFixed(0)} ms, mean ${(told.reduce((a, b) => a + b) / TOLD).toFixed(1)} ms; ` +
    `${Math.round(perClaim / TOLD)} blocks a claim and finish; look ${firstLookMs.toFixed(0)}, then ${(performance.now() - lookedAgainAt).toFixed(0)} ms; ` +
    `in all ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`
  );
}

const open = (url: string) =>
  openDatabase({
    url,
    applicationName: 'bench',
    maxConnections: 1,
    onError: () => undefined,
    statementTimeoutMs: 300_000,
  });

const name = `bench_${process.pid}`;
const admin = open(adminUrl);
await admin.db.$client.query(`create database ${name}`);
const target = new URL(adminUrl);
target.pathname = `/${name}`;
const { db, close } = open(target.href);
const holder = open(target.href);
try {
  await migrate({ url: target.href });
  await db.$client.query(`
    with made as (insert into organization (name) values ('one') returning id)
    insert into line_oa (organization_id, channel_id, name) select id, '1', 'one' from made;
    alter table scheduled_action set (autovacuum_enabled = off)`);
  for (const [backlog, overSeconds] of Object.entries(BACKLOGS).filter(([name]) => name.includes(only)))
    for (const via of ['inline', 'queue'] as const)
      for (const isHeld of [false, true]) {
        await fill(db, overSeconds);
        const keepAwake = setInterval(() => void holder.db.$client.query('select 1'), 3_000);
        if (isHeld)
          await holder.db.$client.query('begin isolation level repeatable read; select count(*) from organization');
        console.info(`${backlog}  ${via}  ${isHeld ? 'held' : 'free'}: ${await drain(db, via)}`);
        if (isHeld) await holder.db.$client.query('rollback');
        clearInterval(keepAwake);
      }
} finally {
  await close();
  await holder.close();
  await admin.db.$client.query(`drop database ${name} with (force)`);
  await admin.close();
}

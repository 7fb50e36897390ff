import { chunk } from '@dueline/kernel';
import { inLanes } from './calls.ts';
import { payloadOf } from './payload.ts';
import type { Job, Peer, PeerUrls } from './peer.ts';
import { copyRow, count, MONTH_MS, openPool, settleTables, WAITING_UNTIL } from './postgres.ts';
import { HISTORY, type Keeping, MESSAGE, PACES, PER_CLAIM, SCHEMA, startWorking, TABLE } from './raw-sql-work.ts';

const PER_CALL = 1_000;
const NAMES: Readonly<Record<Keeping, string>> = { row: 'raw-sql', history: 'raw-sql-with-history' };

const TABLES = `
  drop schema if exists ${SCHEMA} cascade;
  create schema ${SCHEMA};
  create table ${TABLE} (
    id bigint generated always as identity primary key,
    trigger_rule_id bigint not null default 1,
    user_id text not null,
    action_type text not null,
    action_config jsonb not null,
    source_config jsonb,
    execute_at timestamptz not null,
    expires_at timestamptz,
    executed_at timestamptz,
    status text not null default 'pending',
    retry_count integer not null default 0,
    workflow_id bigint not null default 1,
    workflow_node_path text not null default 'root.0',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
  );
  create index on ${TABLE} (execute_at) where status = 'pending';
  create index on ${TABLE} (updated_at) where status = 'processing';
  create index on ${TABLE} (user_id, trigger_rule_id) where status = 'pending';
  create table ${HISTORY} (
    id bigint generated always as identity primary key,
    scheduled_action_id bigint not null,
    trigger_rule_id bigint not null,
    user_id text not null,
    action_type text not null,
    action_config jsonb not null,
    decision text not null,
    created_at timestamptz not null default now()
  );
  create index on ${HISTORY} (trigger_rule_id, created_at);
  create index on ${HISTORY} (user_id, created_at);
  create table ${MESSAGE} (
    id bigint generated always as identity primary key,
    scheduled_action_id bigint not null unique,
    trigger_rule_id bigint not null,
    user_id text not null,
    body text not null,
    body_sha256 text not null,
    retry_key uuid not null default gen_random_uuid(),
    status text not null default 'planned',
    next_attempt_at timestamptz not null default now(),
    created_at timestamptz not null default now()
  );
  create index on ${MESSAGE} (next_attempt_at) where status = 'planned';`;

const ADD = `
  insert into ${TABLE} (user_id, action_type, action_config, execute_at)
  select config ->> 'userId', config ->> 'type', config, to_timestamp((config ->> 'dueAt')::float8 / 1000)
    from unnest($1::jsonb[]) as config`;

const INSERT: Readonly<Record<Keeping, string>> = {
  row: ADD,
  history: `
  with made as (
    ${ADD}
    returning id, trigger_rule_id, user_id, action_type, action_config
  )
  insert into ${HISTORY} (scheduled_action_id, trigger_rule_id, user_id, action_type, action_config, decision)
  select id, trigger_rule_id, user_id, action_type, action_config, 'scheduled' from made`,
};

/**
 * What anybody would write by hand: two statements for 500 rows of one table, on two connections. With `history` they write the rows
 * that ours writes: what a row costs PostgreSQL, without anything that decides, checks or guards.
 */
export function createRawSqlPeer({ databaseUrl }: PeerUrls, keeping: Keeping): Peer {
  const pool = openPool(databaseUrl);
  const insert = (jobs: readonly Job[]) =>
    pool.query({ name: 'insert', text: INSERT[keeping], values: [jobs.map((job) => JSON.stringify(payloadOf(job)))] });
  const addMany = async (jobs: readonly Job[]): Promise<void> => {
    for (const some of chunk(jobs, PER_CALL)) await insert(some);
  };
  return {
    name: NAMES[keeping],
    describe: (mode) => `plain SQL, ${JSON.stringify({ keeping, batchSize: PER_CLAIM, ...PACES[mode] })}`,
    reset: async () => void (await pool.query(TABLES)),
    addMany,
    addSingly: (jobs, concurrency) => inLanes(jobs, concurrency, (job) => insert([job])),
    addWaiting: async (waiting) => {
      if (waiting === 0) return;
      await addMany([{ n: 0, dueAt: Date.now() + MONTH_MS }]);
      const where = `execute_at > now() + interval '1 day'`;
      const vary = { execute_at: WAITING_UNTIL, user_id: `'U' || md5(random()::text)` };
      await copyRow(pool, { table: TABLE, where, vary }, waiting - 1);
    },
    settle: () => settleTables(pool, SCHEMA),
    work: (mode, onJob) => startWorking(databaseUrl, { pace: PACES[mode], keeping }, onJob),
    left: () =>
      count(pool, `select count(*) from ${TABLE} where status in ('pending', 'processing') and execute_at <= now()`),
    waiting: () => count(pool, `select count(*) from ${TABLE} where status = 'pending' and execute_at > now()`),
    close: () => pool.end(),
  };
}

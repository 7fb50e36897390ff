import { column, inTransaction, sql } from '@dueline/db';
import { purgeQueues } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { wakeDue } from '@dueline/scheduled-actions';
import { type Account, CONDITION, PEOPLE, type Product, userOfNumber } from './product.ts';

/** When each row is due, as SQL over its number `n`, from 0. */
export type When = ReturnType<typeof sql>;

/** Over the last ten minutes, by the database's clock. */
export const DUE: When = sql`clock_timestamp() - interval '1 second' - make_interval(secs => (n % 60000) / 100.0)`;
/** Between a day and a month from now. */
export const WAITING: When = sql`clock_timestamp() + interval '1 day' + random() * interval '30 days'`;

/** What one statement fills; more at once would be one huge transaction. */
const FILL_ROWS = 100_000;

/** Pending actions as scheduleMany makes them, made by the server itself, and without waking anybody. */
export async function fill(product: Product, { count, when }: { count: number; when: When }): Promise<void> {
  for (let first = 0; first < count; first += FILL_ROWS) {
    const last = Math.min(count, first + FILL_ROWS) - 1;
    await inTransaction(product.database.db, async (tx) => {
      await tx.execute(sql`set local session_replication_role = replica`);
      await tx.execute(insertRows(product.accounts, { first, last, when }));
    });
  }
}

const insertRows = (accounts: readonly Account[], rows: { first: number; last: number; when: When }) => sql`
  insert into scheduled_action (organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config,
                                source_config, delay_spec, lane, execute_at, due_at, dedup_key)
  select account.organization_id, account.line_oa_id, account.rule_id, rule.version, event.id, event.id,
         ${userOfNumber(sql`n % ${PEOPLE}::int`)}, rule.action_type, rule.action_config, ${JSON.stringify(CONDITION)}::jsonb,
         '{"mode": "normal", "seconds": 60, "reEvaluateConditions": true}', 1, due.at, due.at, 'ev:' || event.id
    from generate_series(${rows.first}::int, ${rows.last}::int) as n
    join unnest(${column(
      accounts.map(({ organizationId }) => organizationId),
      'bigint',
    )}, ${column(
      accounts.map(({ lineOaId }) => lineOaId),
      'bigint',
    )}, ${column(
      accounts.map(({ ruleId }) => ruleId),
      'bigint',
    )}) with ordinality as account (organization_id, line_oa_id, rule_id, number)
      on account.number = 1 + n % ${accounts.length}::int
    join trigger_rule as rule on rule.id = account.rule_id
   cross join lateral (select gen_random_uuid() as id where n >= 0) as event
   cross join lateral (select ${rows.when} as at where n >= 0) as due`; // "n", so that each row draws its own

/** Takes away what earlier rounds left, but for what waits for a time to come. */
export async function clear(product: Product, { keepWaiting }: { keepWaiting: boolean }): Promise<void> {
  const { $client } = product.database.db;
  await purgeQueues(product.place);
  if (!keepWaiting) {
    await $client.query('truncate scheduled_action, trigger_log, delivery cascade');
    return;
  }
  await inTransaction(product.database.db, async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.execute(sql`delete from scheduled_action where status <> 'pending'`);
  });
  await $client.query('truncate trigger_log, delivery cascade');
}

/** The disk and the statistics as they are when nothing has just been filled. */
export async function settle({ database }: Product): Promise<void> {
  await database.db.$client.query('vacuum analyze scheduled_action');
  await database.db.$client.query('checkpoint');
}

/** Holds all accounts up, so that what is due is not claimed before the clock runs. */
export async function hold({ database }: Product): Promise<void> {
  await database.db.$client.query('update line_oa set stopped_at = app_now()');
}

/** Lets them go. @returns When, by the database's clock, in milliseconds of the epoch; a moment before they are free. */
export async function letGo({ database: { db } }: Product): Promise<number> {
  const { rows } = await db.$client.query<{ ms: number }>(
    'update line_oa set stopped_at = null returning (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  await wakeDue(db);
  return rows[0]?.ms ?? Number.NaN;
}

const POLL_MS = 50;

/** Resolves when nothing is due or in hand. @throws Error when that takes longer than `timeoutMs`. */
export async function untilDone({ database }: Product, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { rows } = await database.db.$client.query<{ is_open: boolean }>(`
      select coalesce((select true from scheduled_action where status = 'pending' and gen >= 0 and execute_at <= app_now()
                        order by execute_at desc limit 1),
                      (select true from scheduled_action where status = 'processing' order by id desc limit 1), false) as is_open`);
    if (rows[0]?.is_open === false) return;
    if (performance.now() > deadline) throw new Error(`not everything was done in ${timeoutMs} ms`);
    await sleep(POLL_MS);
  }
}

/** What became of `count` actions that were due. */
export interface Outcome {
  readonly lost: number;
  readonly doubled: number;
  /** When the last one was decided, by the database's clock, in milliseconds of the epoch. */
  readonly lastAt: number;
}

/** Counts what was done by what is written: each action ended, with one line of history and one message. */
export async function readOutcome({ database }: Product, count: number): Promise<Outcome> {
  await database.db.$client.query('analyze scheduled_action, trigger_log, delivery'); // else the join below may take minutes
  const { rows } = await database.db.$client.query<Record<'complete' | 'histories' | 'messages' | 'last', number>>(`
    with ended as (
      select id, updated_at from scheduled_action where status = 'done'
    ), history as (
      select scheduled_action_id as id, count(*) as times from trigger_log where decision = 'fired' group by 1
    ), message as (
      select scheduled_action_id as id, count(*) as times from delivery group by 1
    )
    select count(*) filter (where history.times >= 1 and message.times >= 1)::int as complete,
           coalesce(sum(greatest(history.times - 1, 0)), 0)::int as histories,
           coalesce(sum(greatest(message.times - 1, 0)), 0)::int as messages,
           (extract(epoch from max(updated_at)) * 1000)::float8 as last
      from ended left join history using (id) left join message using (id)`);
  const row = rows[0];
  if (row === undefined) throw new Error('counting gave no row');
  return { lost: Math.max(0, count - row.complete), doubled: row.histories + row.messages, lastAt: row.last };
}

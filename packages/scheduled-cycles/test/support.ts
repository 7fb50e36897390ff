import type { ScheduledTimeConfig, Tenant, Ticket } from '@dueline/contracts';
import { column, type Db, inTransaction, sql, type Tx } from '@dueline/db';
import { columnOf, insertRow, moveProductTime } from '@dueline/db/testing';
import {
  announceCycles,
  type Cycle,
  cycleDedupKey,
  type PageOptions,
  planSchedules,
  readPage,
  takeCycle,
} from '../src/index.ts';

export type Config = Partial<Record<keyof ScheduledTimeConfig, unknown>> & { cron: string };

/** A live rule whose cycles the config describes. */
export async function insertTimeRule(db: Db, tenant: Tenant, config: Config): Promise<string> {
  const rule = await insertRow(db, 'trigger_rule', {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, name: 'rule' },
    ...{ source_type: 'scheduled_time', source_config: config, action_type: 'send_message', action_config: {} },
  });
  return String(rule.id);
}

/** The same, planned. */
export async function plannedRule(db: Db, tenant: Tenant, config: Config): Promise<string> {
  const id = await insertTimeRule(db, tenant, config);
  await plan(db);
  return id;
}

export const plan = (db: Db) => planSchedules(db, { onProblem: async () => {} });

/** Moves product time forward to an instant. */
export async function travelTo(db: Db, instant: string): Promise<void> {
  const [seconds] = await columnOf(db, 'select extract(epoch from $1::timestamptz - app_now())', [instant]);
  await moveProductTime(db, Number(seconds));
}

/** Every cycle, oldest first: instant, status and what else is given. */
export const cycles = (db: Db, fields = 'reason_code') =>
  columnOf(
    db,
    `select concat_ws(' ', to_char(scheduled_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI'), status, ${fields})
       from scheduled_trigger_execution order by scheduled_at, id`,
  );

export const nextRuns = (db: Db) =>
  columnOf(
    db,
    `select to_char(next_run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI') from cycle_schedule order by trigger_rule_id`,
  );

export const announced = (db: Db) => announceCycles(db, { limit: 100, againAfterSeconds: 60 });

export async function take(db: Db, tenant: Tenant, ticket: Ticket, claimedBy = 'worker-1:boot'): Promise<Cycle> {
  const cycle = await takeCycle(db, tenant, { ticket, claimedBy, leaseSeconds: 30 });
  if (cycle === undefined) throw new Error('the cycle was not to be taken');
  return cycle;
}

/** Takes the one announced cycle. */
export async function takeOne(db: Db, tenant: Tenant): Promise<Cycle> {
  const [ticket] = await announced(db);
  if (ticket === undefined) throw new Error('no cycle was announced');
  return take(db, tenant, ticket);
}

/** An action for each person, due now. */
export const enqueueFor =
  (cycle: Cycle): PageOptions['enqueue'] =>
  async (tx: Tx, userIds) => {
    await tx.execute(sql`
      insert into scheduled_action (organization_id, line_oa_id, trigger_rule_id, user_id, action_type, action_config, execute_at, due_at, dedup_key)
      select ${cycle.organizationId}::bigint, ${cycle.lineOaId}::bigint, ${cycle.triggerRuleId}::bigint, user_id, 'send_message', '{}', app_now(), app_now(),
             ${cycleDedupKey(cycle.id, '')} || user_id
        from unnest(${column(userIds, 'text')}) as user_id`);
    return { suppressed: 0 };
  };

export const read = (db: Db, cycle: Cycle, options: Partial<PageOptions> = {}) =>
  inTransaction(db, (tx) =>
    readPage(tx, { cycle, config: {}, leaseSeconds: 30, enqueue: enqueueFor(cycle), ...options } as PageOptions),
  );

/** Reads until the last page. */
export async function readAll(db: Db, cycle: Cycle, options: Partial<PageOptions> = {}): Promise<void> {
  for (;;) {
    const page = await read(db, cycle, options);
    if (page.result === 'lost') throw new Error('the cycle was lost');
    if (page.isLast) return;
  }
}

/** Everybody who has an action, by user id. */
export const served = (db: Db) => columnOf(db, 'select user_id from scheduled_action order by user_id');

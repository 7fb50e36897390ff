import { type Db, inTransaction, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { type DueCycles, planCycles } from './misfire.ts';
import { parseSchedule, type Schedule } from './schedule.ts';
import { insertSkipped, instants, type SkippedCycle } from './skipped.ts';

type DueRow = {
  trigger_rule_id: string;
  organization_id: string;
  line_oa_id: string;
  source_config: unknown;
  version: number;
  timezone: string;
  due: string;
  now: string;
};

/** What one call opened. */
export interface OpenedCycles {
  readonly opened: number;
  readonly skipped: number;
  /** How late the last cycle of each rule was opened, in seconds of product time. */
  readonly lateSeconds: readonly number[];
  /** Schedules that it looked at; as many as the limit: there may be more. */
  readonly looked: number;
}

/**
 * none -> processing for the cycles of at most `limit` rules whose time has come, and none -> skipped for those that their rule's policies
 * leave out, visibly; each schedule moves on in the same transaction. None of a stopped account: when it goes on, what it missed is a
 * misfire. Safe from any number of openers at once: a cycle is opened by one of them, and never twice.
 *
 * @param options.onWritten Before the commit, when cycles were written.
 */
export function openCycles(
  db: Db,
  { limit, onWritten }: { limit: number; onWritten?: (() => void) | undefined },
): Promise<OpenedCycles> {
  return inTransaction(db, async (tx) => {
    const { rows } = await tx.execute<DueRow>(sql`
      select schedule.trigger_rule_id, schedule.organization_id, schedule.line_oa_id, rule.source_config, rule.version, account.timezone,
             extract(epoch from schedule.next_run_at) * 1000 as due, extract(epoch from app_now()) * 1000 as now
        from cycle_schedule as schedule
        join trigger_rule as rule on rule.id = schedule.trigger_rule_id
        join line_oa as account on account.id = schedule.line_oa_id and account.stopped_at is null
        join organization on organization.id = schedule.organization_id and organization.stopped_at is null
       where schedule.next_run_at <= app_now()
       order by schedule.next_run_at, schedule.trigger_rule_id limit ${limit}
         for no key update of schedule skip locked`);
    let opened = 0;
    let skipped = 0;
    const lateSeconds: number[] = [];
    for (const row of rows) {
      const counts = await openOfRule(tx, row);
      opened += counts.opened;
      skipped += counts.skipped;
      if (counts.lateSeconds !== undefined) lateSeconds.push(counts.lateSeconds);
    }
    if (opened > 0) onWritten?.();
    return { opened, skipped, lateSeconds, looked: rows.length };
  });
}

async function openOfRule(tx: Tx, row: DueRow): Promise<{ opened: number; skipped: number; lateSeconds?: number }> {
  const schedule = readSchedule(row);
  if (schedule === undefined) {
    // what was a calendar when it was planned is none any more (a zone that was renamed): the planning says so
    await tx.execute(sql`
      update cycle_schedule set plan_from = app_now(), next_run_at = null, planned_at = null, fence = fence + 1
       where trigger_rule_id = ${row.trigger_rule_id}`);
    const [at, othersBefore] = [new Date(Number(row.due)), new Date(Number(row.now))];
    await insertSkipped(tx, row, [{ at, reason: 'rule_invalid', othersBefore }]);
    return { opened: 0, skipped: 1 };
  }
  const { misfire, catchUpSeconds } = schedule.config;
  const due = planCycles(schedule.calendar, {
    ...{ dueAt: new Date(Number(row.due)), now: new Date(Number(row.now)) },
    ...{ misfire, catchUpMs: catchUpSeconds * 1_000 },
  });
  await tx.execute(sql`
    update cycle_schedule
       set next_run_at = ${due.nextRunAt?.toISOString() ?? null}, fence = fence + 1, updated_date = clock_timestamp()
     where trigger_rule_id = ${row.trigger_rule_id}`);
  const { runs, overlapping } = await applyOverlap(tx, row, { schedule, runs: due.runs });
  await insertCycles(tx, row, { runs, waitsItsTurn: schedule.config.overlap !== 'allow' });
  await insertSkipped(tx, row, leftOut(due, overlapping));
  const last = runs.at(-1);
  return {
    opened: runs.length,
    skipped: due.skipped.length + overlapping.length,
    ...(last === undefined ? {} : { lateSeconds: (Number(row.now) - last.getTime()) / 1_000 }),
  };
}

function readSchedule({ source_config, timezone }: DueRow): Schedule | undefined {
  try {
    return parseSchedule(source_config, timezone);
  } catch (error) {
    if (error instanceof PermanentError) return undefined;
    throw error;
  }
}

/**
 * Cycles that meet an earlier one which is not over: with `queue` one waits, unless another one of the calendar does already; several that are made up for
 * at once all do. What a person runs takes no place of the calendar's.
 */
async function applyOverlap(
  tx: Tx,
  { trigger_rule_id }: DueRow,
  { schedule, runs }: { schedule: Schedule; runs: readonly Date[] },
): Promise<{ runs: readonly Date[]; overlapping: readonly Date[] }> {
  const { overlap } = schedule.config;
  if (overlap === 'allow' || runs.length === 0) return { runs, overlapping: [] };
  const { rows: open } = await tx.execute<{ origin: 'cron' | 'manual' }>(sql`
    select origin from scheduled_trigger_execution where trigger_rule_id = ${trigger_rule_id} and status = 'processing'
     order by scheduled_at`);
  const inTheWay = overlap === 'queue' ? open.slice(1).filter(({ origin }) => origin === 'cron') : open;
  return inTheWay.length === 0 ? { runs, overlapping: [] } : { runs: [], overlapping: runs };
}

async function insertCycles(
  tx: Tx,
  row: DueRow,
  { runs, waitsItsTurn }: { runs: readonly Date[]; waitsItsTurn: boolean },
): Promise<void> {
  if (runs.length === 0) return;
  await tx.execute(sql`
    insert into scheduled_trigger_execution (organization_id, line_oa_id, trigger_rule_id, scheduled_at, rule_version, waits_its_turn)
    select ${row.organization_id}::bigint, ${row.line_oa_id}::bigint, ${row.trigger_rule_id}::bigint, at, ${row.version}::integer, ${waitsItsTurn}
      from unnest(${instants(runs)}) as at
        on conflict (trigger_rule_id, scheduled_at) do nothing`);
}

const leftOut = ({ uncounted, skipped }: DueCycles, overlapping: readonly Date[]): SkippedCycle[] => [
  ...(uncounted === undefined
    ? []
    : [{ at: uncounted.from, reason: 'misfire' as const, othersBefore: uncounted.until }]),
  ...skipped.map((at) => ({ at, reason: 'misfire' as const })),
  ...overlapping.map((at) => ({ at, reason: 'overlap' as const })),
];

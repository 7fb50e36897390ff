import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { parseSchedule } from './schedule.ts';
import { leaveOutSuperseded } from './superseded.ts';

/** A rule whose schedule cannot be read: it has no cycles until it is changed. */
export interface ScheduleProblem extends Tenant {
  readonly triggerRuleId: string;
  readonly problem: string;
}

type UnplannedRow = {
  trigger_rule_id: string;
  organization_id: string;
  line_oa_id: string;
  source_config: unknown;
  timezone: string;
  from: string;
};

/**
 * Computes when the next cycle is due, for at most 100 rules that are new or were changed: the first time after the change, never one before. It
 * may have come before anybody was there to plan it. What a rule had due by calendars that were changed before they were planned becomes skipped cycles.
 *
 * @param options.onProblem In the same transaction, for each rule whose schedule cannot be read.
 * @returns How many it planned, or found changed before they were.
 */
export function planSchedules(
  db: Db,
  { onProblem }: { onProblem: (tx: Tx, problem: ScheduleProblem) => Promise<void> },
): Promise<number> {
  return inTransaction(db, async (tx) => {
    const superseded = await leaveOutSuperseded(tx);
    const { rows } = await tx.execute<UnplannedRow>(sql`
      select schedule.trigger_rule_id, schedule.organization_id, schedule.line_oa_id, rule.source_config, account.timezone,
             extract(epoch from coalesce(schedule.plan_from, app_now())) * 1000 as from
        from cycle_schedule as schedule
        join trigger_rule as rule on rule.id = schedule.trigger_rule_id
        join line_oa as account on account.id = schedule.line_oa_id
       where schedule.is_live and schedule.planned_at is null
       order by schedule.trigger_rule_id limit 100
         for no key update of schedule skip locked`);
    for (const row of rows) {
      const { next, problem } = nextRun(row);
      if (problem !== null) await onProblem(tx, problemOf(row, problem));
      await tx.execute(sql`
        update cycle_schedule
           set next_run_at = ${next}, problem = ${problem}, planned_at = clock_timestamp(), fence = fence + 1, updated_date = clock_timestamp()
         where trigger_rule_id = ${row.trigger_rule_id}`);
    }
    return superseded + rows.length;
  });
}

function nextRun({ source_config, timezone, from }: UnplannedRow): { next: string | null; problem: string | null } {
  try {
    const { calendar } = parseSchedule(source_config, timezone);
    return { next: calendar.next(new Date(Number(from)))?.toISOString() ?? null, problem: null };
  } catch (error) {
    if (error instanceof PermanentError) return { next: null, problem: error.message };
    throw error;
  }
}

const problemOf = (row: UnplannedRow, problem: string): ScheduleProblem => ({
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  triggerRuleId: row.trigger_rule_id,
  problem,
});

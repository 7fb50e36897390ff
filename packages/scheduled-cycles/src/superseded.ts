import { sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import type { CycleReason } from './control.ts';
import { parseSchedule } from './schedule.ts';
import { insertSkipped } from './skipped.ts';

type SupersededRow = {
  organization_id: string;
  line_oa_id: string;
  trigger_rule_id: string;
  source_config: unknown;
  timezone: string;
  version: number;
  reason: CycleReason;
  from: string;
  until: string;
};

/**
 * none -> skipped for what was due by calendars that were changed again before anybody had planned by them: the first cycle of each, with a word of
 * the others, as the database leaves out what was planned. At most 100 calendars.
 *
 * @returns How many calendars it took.
 */
export async function leaveOutSuperseded(tx: Tx): Promise<number> {
  const { rows } = await tx.execute<SupersededRow>(sql`
    with taken as materialized (
      select id from superseded_calendar order by id limit 100
         for no key update skip locked
    )
    delete from superseded_calendar as calendar using taken where calendar.id = taken.id
    returning calendar.organization_id, calendar.line_oa_id, calendar.trigger_rule_id, calendar.source_config, calendar.timezone,
              calendar.rule_version as version, calendar.reason_code as reason, extract(epoch from calendar.plan_from) * 1000 as from,
              extract(epoch from calendar.superseded_at) * 1000 as until`);
  for (const row of rows) {
    const [at, until] = [firstOf(row), new Date(Number(row.until))];
    if (at !== undefined && at <= until)
      await insertSkipped(tx, row, [{ at, reason: row.reason, othersBefore: until }]);
  }
  return rows.length;
}

/** Undefined: it never came true, or is none, and so had no cycles. */
function firstOf({ source_config, timezone, from }: SupersededRow): Date | undefined {
  try {
    return parseSchedule(source_config, timezone).calendar.next(new Date(Number(from)));
  } catch (error) {
    if (error instanceof PermanentError) return undefined;
    throw error;
  }
}

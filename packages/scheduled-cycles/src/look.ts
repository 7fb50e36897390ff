import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';
import type { CycleReason } from './control.ts';
import type { CycleStatus } from './state.ts';

/** A cycle as a person sees it. Instants are RFC 3339; the counts are those of the last count (`cycleProgress` counts anew). */
export interface CycleView {
  readonly id: string;
  readonly triggerRuleId: string;
  readonly ruleName: string;
  readonly scheduledAt: string;
  readonly origin: 'cron' | 'manual';
  readonly status: CycleStatus;
  readonly reasonCode: CycleReason | null;
  readonly message: string | null;
  readonly isPaused: boolean;
  readonly total: number;
  readonly processed: number;
  readonly failed: number;
  readonly completedAt: string | null;
}

/** A time rule and when its next cycle begins; null: it is off, or will have none. */
export interface ScheduleView {
  readonly triggerRuleId: string;
  readonly ruleName: string;
  readonly cron: string;
  readonly nextRunAt: string | null;
  readonly problem: string | null;
}

/** The newest cycles of an account, or of one of its rules. */
export async function listCycles(
  db: Db,
  { organizationId, lineOaId }: Tenant,
  { triggerRuleId, limit }: { triggerRuleId?: string | undefined; limit: number },
): Promise<CycleView[]> {
  const { rows } = await db.execute<{ [key in keyof CycleView]: CycleView[key] }>(sql`
    select cycle.id::text as id, cycle.trigger_rule_id::text as "triggerRuleId", rule.name as "ruleName", to_json(scheduled_at) #>> '{}' as "scheduledAt",
           origin, status, reason_code as "reasonCode", error_message as message, paused_at is not null as "isPaused",
           total_users::float8 as total, processed_users::float8 as processed, failed_users::float8 as failed,
           to_json(completed_at) #>> '{}' as "completedAt"
      from scheduled_trigger_execution as cycle join trigger_rule as rule on rule.id = cycle.trigger_rule_id
     where cycle.organization_id = ${organizationId} and cycle.line_oa_id = ${lineOaId}
       and (${triggerRuleId ?? null}::bigint is null or cycle.trigger_rule_id = ${triggerRuleId ?? null}::bigint)
     order by scheduled_at desc, cycle.id desc limit ${limit}`);
  return rows;
}

/** The time rules of an account that are not deleted, by their next cycle. */
export async function listSchedules(db: Db, { organizationId, lineOaId }: Tenant): Promise<ScheduleView[]> {
  const { rows } = await db.execute<{ [key in keyof ScheduleView]: ScheduleView[key] }>(sql`
    select schedule.trigger_rule_id::text as "triggerRuleId", rule.name as "ruleName", coalesce(rule.source_config ->> 'cron', '') as cron,
           to_json(next_run_at) #>> '{}' as "nextRunAt", problem
      from cycle_schedule as schedule join trigger_rule as rule on rule.id = schedule.trigger_rule_id and rule.deleted_date is null
     where schedule.organization_id = ${organizationId} and schedule.line_oa_id = ${lineOaId} and rule.source_type = 'scheduled_time'
     order by next_run_at nulls last, schedule.trigger_rule_id`);
  return rows;
}

import type { Tenant } from '@dueline/contracts';
import { type SQL, sql, type Tx } from '@dueline/db';
import { parseSchedule } from './schedule.ts';
import { insertSkipped } from './skipped.ts';

/** Why a cycle was not run, or was ended. */
export type CycleReason =
  | 'misfire'
  | 'overlap'
  | 'by_person'
  | 'rule_changed'
  | 'zone_changed'
  | 'rule_deleted'
  | 'rule_disabled'
  | 'rule_invalid'
  | 'decision_failed';

const ofTenant = ({ organizationId, lineOaId }: Tenant) =>
  sql`organization_id = ${organizationId} and line_oa_id = ${lineOaId}`;

/** A cycle that a person began, and what it waits for. */
export interface CycleRun {
  readonly id: string;
  /** Earlier cycles of the rule that are not over, the first first: it begins when they are. None when the rule lets its cycles overlap. */
  readonly behind: readonly { readonly id: string; readonly isPaused: boolean }[];
  /** The account or its organization is stopped: it begins when the stop is over. */
  readonly isStopped: boolean;
}

/**
 * none -> processing now, beside the calendar, for a live time rule of the account; undefined: it is none. Repeated within the same millisecond it is the
 * same cycle.
 */
export async function runCycleNow(
  tx: Tx,
  tenant: Tenant,
  { triggerRuleId }: { triggerRuleId: string },
): Promise<CycleRun | undefined> {
  const { rows } = await tx.execute<{ id: string; waits: boolean }>(sql`
      insert into scheduled_trigger_execution (organization_id, line_oa_id, trigger_rule_id, scheduled_at, rule_version, origin, waits_its_turn)
      select rule.organization_id, rule.line_oa_id, rule.id, date_trunc('milliseconds', app_now()), rule.version, 'manual',
             coalesce(rule.source_config ->> 'overlap', 'skip') <> 'allow'
        from trigger_rule as rule join cycle_schedule as schedule on schedule.trigger_rule_id = rule.id and schedule.is_live
       where rule.id = ${triggerRuleId} and rule.organization_id = ${tenant.organizationId} and rule.line_oa_id = ${tenant.lineOaId}
          on conflict (trigger_rule_id, scheduled_at) do nothing
      returning id, waits_its_turn as waits`);
  const [row] = rows;
  return row && { id: row.id, ...(await waitsOf(tx, { ...tenant, ...row, triggerRuleId })) };
}

/** What announceCycles waits for before it announces a cycle. */
async function waitsOf(
  tx: Tx,
  { lineOaId, triggerRuleId, id, waits }: Tenant & { triggerRuleId: string; id: string; waits: boolean },
): Promise<Omit<CycleRun, 'id'>> {
  const { rows: stops } = await tx.execute(sql`
    select from line_oa join organization on organization.id = line_oa.organization_id
     where line_oa.id = ${lineOaId} and (line_oa.stopped_at is not null or organization.stopped_at is not null)`);
  const { rows } = await tx.execute<{ id: string; paused: boolean }>(sql`
    select earlier.id, earlier.paused_at is not null as paused
      from scheduled_trigger_execution as cycle join scheduled_trigger_execution as earlier using (trigger_rule_id)
     where ${waits} and cycle.id = ${id} and trigger_rule_id = ${triggerRuleId} and earlier.status = 'processing'
       and earlier.scheduled_at < cycle.scheduled_at
     order by earlier.scheduled_at`);
  return {
    behind: rows.map(({ id: earlier, paused }) => ({ id: earlier, isPaused: paused })),
    isStopped: stops.length > 0,
  };
}

/** The next cycle of a rule becomes a skipped one, and its schedule moves on. Returns the instant left out; undefined: none is planned. */
export async function skipNextCycle(
  tx: Tx,
  tenant: Tenant,
  { triggerRuleId }: { triggerRuleId: string },
): Promise<string | undefined> {
  const { rows } = await tx.execute<{ due: string; source_config: unknown; version: number; timezone: string }>(sql`
      select extract(epoch from schedule.next_run_at) * 1000 as due, rule.source_config, rule.version, account.timezone
        from cycle_schedule as schedule
        join trigger_rule as rule on rule.id = schedule.trigger_rule_id
        join line_oa as account on account.id = schedule.line_oa_id
       where schedule.trigger_rule_id = ${triggerRuleId} and schedule.organization_id = ${tenant.organizationId}
         and schedule.line_oa_id = ${tenant.lineOaId} and schedule.next_run_at is not null
         for no key update of schedule`);
  const [row] = rows;
  if (row === undefined) return undefined;
  const skipped = new Date(Number(row.due));
  const next = parseSchedule(row.source_config, row.timezone).calendar.next(skipped);
  await tx.execute(sql`
      update cycle_schedule set next_run_at = ${next?.toISOString() ?? null}, fence = fence + 1, updated_date = clock_timestamp()
       where trigger_rule_id = ${triggerRuleId}`);
  const { organizationId: organization_id, lineOaId: line_oa_id } = tenant;
  const rule = { organization_id, line_oa_id, trigger_rule_id: triggerRuleId, version: row.version };
  await insertSkipped(tx, rule, [{ at: skipped, reason: 'by_person' }]);
  return skipped.toISOString();
}

/** No more people are read; those who were read before are served. False: it is over, or paused already. */
export const pauseCycle = (tx: Tx, tenant: Tenant, cycle: { executionId: string }): Promise<boolean> =>
  change(
    tx,
    { ...tenant, ...cycle },
    {
      set: sql`paused_at = app_now(), fence = fence + 1, lease_until = null`,
      where: sql`paused_at is null and not read_all`,
    },
  );

/** Goes on behind the last person who was read. False: it is not paused. */
export const resumeCycle = (tx: Tx, tenant: Tenant, cycle: { executionId: string }): Promise<boolean> =>
  change(
    tx,
    { ...tenant, ...cycle },
    { set: sql`paused_at = null, published_at = null, fence = fence + 1`, where: sql`paused_at is not null` },
  );

/** processing -> cancelled: no more people are read, and none of its actions is done from the commit on; a sweep cancels them. False: it is over. */
export const cancelCycle = (tx: Tx, tenant: Tenant, cycle: { executionId: string }): Promise<boolean> =>
  change(tx, { ...tenant, ...cycle }, { set: ENDED('by_person'), where: sql`true` });

/** processing -> cancelled in the transaction that finds that its rule is gone; what waits of it is the rule's to judge. */
export async function endCycle(
  tx: Tx,
  { executionId, reason }: { executionId: string; reason: CycleReason },
): Promise<void> {
  await tx.execute(sql`
    update scheduled_trigger_execution set ${ENDED(reason)}, swept = true where id = ${executionId} and status = 'processing'`);
}

const ENDED = (reason: CycleReason) => sql`
  status = 'cancelled', reason_code = ${reason}, completed_at = app_now(), fence = fence + 1, lease_until = null, paused_at = null`;

async function change(
  tx: Tx,
  cycle: Tenant & { executionId: string },
  { set, where }: { set: SQL; where: SQL },
): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    update scheduled_trigger_execution set ${set}
     where id = ${cycle.executionId} and ${ofTenant(cycle)} and status = 'processing' and ${where}`);
  return rowCount === 1;
}

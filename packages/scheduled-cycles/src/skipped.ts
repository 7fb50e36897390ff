import { column, sql, type Tx } from '@dueline/db';
import type { CycleReason } from './control.ts';

/** Whose cycles they are, and by which version of its text. */
interface OfRule {
  readonly organization_id: string;
  readonly line_oa_id: string;
  readonly trigger_rule_id: string;
  readonly version: number;
}

/** A cycle that does not run. */
export interface SkippedCycle {
  readonly at: Date;
  readonly reason: CycleReason;
  /** There were more, which have no row of their own: all those before this instant. */
  readonly othersBefore?: Date | undefined;
}

/** none -> skipped. What has a row already, keeps it. */
export async function insertSkipped(tx: Tx, rule: OfRule, cycles: readonly SkippedCycle[]): Promise<void> {
  if (cycles.length === 0) return;
  await tx.execute(sql`
    insert into scheduled_trigger_execution (organization_id, line_oa_id, trigger_rule_id, scheduled_at, rule_version, status, reason_code,
                                             error_message, completed_at)
    select ${rule.organization_id}::bigint, ${rule.line_oa_id}::bigint, ${rule.trigger_rule_id}::bigint, at, ${rule.version}::integer, 'skipped',
           reason, message, app_now()
      from unnest(${instants(cycles.map(({ at }) => at))}, ${texts(cycles.map(({ reason }) => reason))},
                  ${texts(cycles.map(messageOf))}) as skipped (at, reason, message)
        on conflict (trigger_rule_id, scheduled_at) do nothing`);
}

const messageOf = ({ othersBefore }: SkippedCycle): string | null =>
  othersBefore === undefined ? null : `and all others before ${othersBefore.toISOString()}`;

const texts = (values: readonly (string | null)[]) => column(values, 'text');

export const instants = (dates: readonly Date[]) =>
  column(
    dates.map((at) => at.toISOString()),
    'timestamptz',
  );

import { sql, type Tx } from '@dueline/db';
import { cycleDedupKey } from '@dueline/scheduled-cycles';
import { type DecidedRow, decidedInCycle } from '../decided.ts';
import type { Account } from '../rule-then.ts';

/** A cycle of a rule, as it stands. Instants are RFC 3339. */
export interface CycleThen {
  /** Null: it is still ahead. */
  readonly id: string | null;
  readonly scheduledAt: string;
  readonly status: 'ahead' | 'processing' | 'completed' | 'failed' | 'cancelled' | 'skipped';
  readonly reasonCode: string | null;
  readonly message: string | null;
}

/** A cycle that was opened, or left out. */
export interface FoundCycle extends CycleThen {
  readonly id: string;
  readonly ruleVersion: number;
  /** In microseconds. */
  readonly at: number;
  readonly startedAt: string;
  /** When the next one began; null: none did. */
  readonly nextStartedAt: string | null;
  /** Whether it has come to this person. */
  readonly hasRead: boolean;
}

interface Near {
  readonly ruleId: string;
  readonly userId: string;
  readonly at: string;
  readonly withinSeconds: number;
}

/** The cycle of a rule that is nearest to an instant; undefined: there is none. */
export async function findCycle(tx: Tx, account: Account, near: Near): Promise<FoundCycle | undefined> {
  const within = sql`make_interval(secs => ${near.withinSeconds})`;
  const text = (instant: ReturnType<typeof sql>) =>
    sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  const { rows } = await tx.execute<Omit<FoundCycle, 'at'> & { readonly at: string } & Record<string, unknown>>(sql`
    select id, ${text(sql`scheduled_at`)} as "scheduledAt", (extract(epoch from scheduled_at) * 1000000)::bigint as at, status,
           reason_code as "reasonCode", error_message as message, rule_version as "ruleVersion", ${text(sql`started_at`)} as "startedAt",
           read_all or cursor_user_id >= ${near.userId} as "hasRead",
           (select ${text(sql`min(next.started_at)`)} from scheduled_trigger_execution as next
             where next.trigger_rule_id = cycle.trigger_rule_id and next.started_at > cycle.started_at) as "nextStartedAt"
      from scheduled_trigger_execution as cycle
     where trigger_rule_id = ${near.ruleId} and line_oa_id = ${account.lineOaId} and organization_id = ${account.organizationId}
       and scheduled_at between ${near.at}::timestamptz - ${within} and ${near.at}::timestamptz + ${within}
     order by abs(extract(epoch from scheduled_at - ${near.at}::timestamptz)), id limit 1`);
  const [row] = rows;
  return row && { ...row, at: Number(row.at) };
}

/** What was decided of a person when the cycle was read; undefined: there is no line of it. */
export async function decidedOfCycle(
  tx: Tx,
  account: Account,
  { cycle, ...of }: { cycle: FoundCycle; ruleId: string; userId: string },
): Promise<DecidedRow | undefined> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from scheduled_action where line_oa_id = ${account.lineOaId} and dedup_key = ${cycleDedupKey(cycle.id, of.userId)}`);
  return decidedInCycle(tx, account, { ...of, ...cycle, scheduledActionId: rows[0]?.id ?? null });
}

import { column, sql, type Tx } from '@dueline/db';
import type { TriggerRule } from './rule.ts';

/** A rule that is about to fire for a user. */
export interface Firing {
  readonly rule: TriggerRule;
  readonly userId: string;
  /**
   * The instant that counts, RFC 3339; left out: now. A cycle's is its nominal one: people are read a moment earlier or later each time, and an hourly
   * rule that fires once an hour fires in each.
   */
  readonly at?: string;
}

const firingKey = ({ rule, userId }: Firing): string => `${rule.id}:${userId}`;

/** Whether `frequency`, `cooldown_seconds` or `reentry` limits the rule at all by what happened before. */
const isLimited = ({ frequency, cooldownSeconds, reentry }: TriggerRule): boolean =>
  frequency !== 'every_time' || cooldownSeconds > 0 || reentry === 'never';

/**
 * Spends the slots of these firings and says which may fire, in order: `once` is for ever, `once_per_hour` counts 3,600 s
 * from the last fire, a day or week is the calendar's in the account's zone, `cooldown_seconds` rolls; both must pass, and who must
 * never enter again has not fired yet. A rule that observes has slots of its own, which limit nothing when it is live.
 *
 * One upsert per (rule, user) in the deciding transaction: of two transactions the second waits and sees the first. Of two
 * firings of one (rule, user) in one call only the first can pass.
 */
export async function passGate(tx: Tx, firings: readonly Firing[]): Promise<boolean[]> {
  const limited = new Map<string, Firing>();
  for (const firing of firings) {
    if (isLimited(firing.rule) && !limited.has(firingKey(firing))) limited.set(firingKey(firing), firing);
  }
  const passed = limited.size === 0 ? new Set<string>() : await upsertGates(tx, [...limited.values()]);
  return firings.map((firing) => {
    if (!isLimited(firing.rule)) return true;
    return passed.delete(firingKey(firing)); // the slot is spent by the first
  });
}

async function upsertGates(tx: Tx, firings: readonly Firing[]): Promise<Set<string>> {
  const col = (read: (firing: Firing) => string | null, type: 'bigint' | 'text' | 'timestamptz') =>
    column(firings.map(read), type);
  const { rows } = await tx.execute<{ trigger_rule_id: string; user_id: string }>(sql`
    insert into rule_gate as gate (organization_id, line_oa_id, trigger_rule_id, user_id, mode, last_fired_at)
    select organization_id, line_oa_id, trigger_rule_id, user_id, mode, coalesce(at, app_now())
      from unnest(${col(({ rule }) => rule.organizationId, 'bigint')}, ${col(({ rule }) => rule.lineOaId, 'bigint')},
                  ${col(({ rule }) => rule.id, 'bigint')}, ${col(({ userId }) => userId, 'text')},
                  ${col(({ rule }) => rule.mode, 'text')}, ${col((firing) => firing.at ?? null, 'timestamptz')})
        as firing (organization_id, line_oa_id, trigger_rule_id, user_id, mode, at)
     order by trigger_rule_id, user_id
        on conflict (trigger_rule_id, user_id, mode) do update
       set last_fired_at = excluded.last_fired_at, fired_count = gate.fired_count + 1
     where exists (
       select from trigger_rule as rule join line_oa as account on account.id = rule.line_oa_id
        where rule.id = gate.trigger_rule_id
          and rule.reentry <> 'never'
          and gate.last_fired_at + make_interval(secs => rule.cooldown_seconds) <= excluded.last_fired_at
          and case rule.frequency
                when 'every_time' then true
                when 'once' then false
                when 'once_per_hour' then gate.last_fired_at + interval '1 hour' <= excluded.last_fired_at
                when 'once_per_day' then date_trunc('day', gate.last_fired_at at time zone account.timezone)
                                       < date_trunc('day', excluded.last_fired_at at time zone account.timezone)
                when 'once_per_week' then date_trunc('week', gate.last_fired_at at time zone account.timezone)
                                        < date_trunc('week', excluded.last_fired_at at time zone account.timezone)
              end)
    returning trigger_rule_id, user_id`);
  return new Set(rows.map((row) => `${row.trigger_rule_id}:${row.user_id}`));
}

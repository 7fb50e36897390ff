import { column, sql, type Tx } from '@dueline/db';
import { cycleInstant } from '@dueline/scheduled-actions';
import { campaignReaches, countedAt, LATE_PART, type TriggerRule } from '@dueline/trigger-rules';
import type { Moment } from './limits-then.ts';
import type { Account } from './rule-then.ts';

/** What limits a rule for one person, as far as it happened before. It grows as the past is played again. */
export interface Track {
  /** When the rule last fired. */
  lastFired: Moment | undefined;
  /** Until when what waits under the rule waits; null: nobody can say. */
  open: readonly (number | null)[];
  /** When messages count for the caps that were sent, by this rule or others. */
  sent: readonly number[];
}

/** What is asked about people: up to an instant, and of others' messages up to another. */
export interface Asked {
  readonly rule: TriggerRule;
  readonly userIds: readonly string[];
  /** Microseconds: what the rule did before this instant is known, what it did later is about to be played. */
  readonly before: number;
  /** What other rules and campaigns sent counts until here. */
  readonly until: number;
  /** An action that was decided at `until`, perhaps together with others: what was due before it counts too. */
  readonly ofAction?: string | undefined;
}

const MICROS = (instant: ReturnType<typeof sql>) => sql`(extract(epoch from ${instant}) * 1000000)::bigint`;
const instant = (micros: number) =>
  sql`(timestamptz 'epoch' + ${Math.round(micros)}::bigint * interval '1 microsecond')`;
const ofAccount = ({ organizationId, lineOaId }: Account) =>
  sql`log.line_oa_id = ${lineOaId} and log.organization_id = ${organizationId}`;

/** What limits a rule for these people. */
export async function loadTracks(tx: Tx, account: Account, asked: Asked): Promise<(userId: string) => Track> {
  const of = { ...asked, ids: column([...new Set(asked.userIds)], 'text') };
  const isKnown = asked.rule.id !== '0';
  const fired = isKnown ? await loadFired(tx, account, of) : new Map<string, Moment>();
  const open = isKnown ? await loadOpen(tx, account, of) : new Map<string, number[]>();
  const sent = asked.rule.isCapped ? await loadSent(tx, account, of) : new Map<string, number[]>();
  return (userId) => ({ lastFired: fired.get(userId), open: open.get(userId) ?? [], sent: sent.get(userId) ?? [] });
}

/** The same with the people as a parameter. */
interface AskedOf extends Asked {
  readonly ids: ReturnType<typeof column>;
}

/** By the history of decisions, and where that does not reach back so far, by the gate, which remembers the last. */
async function loadFired(tx: Tx, account: Account, { rule, before, ids }: AskedOf) {
  const { rows } = await tx.execute<{ user_id: string; at: string; day: string; week: string }>(sql`
    select user_id, ${MICROS(sql`at`)} as at, to_char(at at time zone ${account.timezone}, 'YYYY-MM-DD') as day,
           to_char(date_trunc('week', at at time zone ${account.timezone}), 'YYYY-MM-DD') as week
      from (select person.user_id, coalesce(
               (select created_date from trigger_log as log
                 where ${ofAccount(account)} and log.user_id = person.user_id and log.trigger_rule_id = ${rule.id}
                   and log.created_date < ${instant(before)} and log.trigger_on <> 'scheduled_action'
                   and case ${rule.mode} when 'observe' then log.decision = 'observed' and log.reason_code = 'matched'
                            else log.decision in ('fired', 'scheduled') or log.reason_code = 'date_past' end
                 order by created_date desc limit 1),
               (select last_fired_at from rule_gate as gate
                 where gate.trigger_rule_id = ${rule.id} and gate.user_id = person.user_id and gate.mode = ${rule.mode}
                   and gate.line_oa_id = ${account.lineOaId} and gate.last_fired_at < ${instant(before)})) as at
              from unnest(${ids}) as person (user_id)) as fired
     where at is not null`);
  return new Map(rows.map(({ user_id, at, day, week }) => [user_id, { at: Number(at), day, week }]));
}

/** What began to wait before, and was not over then; what still waits has no end yet. */
async function loadOpen(tx: Tx, account: Account, { rule, before, ids }: AskedOf) {
  if (rule.reentry !== 'not_while_open') return new Map<string, (number | null)[]>();
  const { rows } = await tx.execute<{ user_id: string; until: string | null }>(sql`
    select log.user_id, ${MICROS(sql`action.executed_at`)} as until
      from trigger_log as log join scheduled_action as action on action.id = log.scheduled_action_id
     where ${ofAccount(account)} and log.user_id = any(${ids}) and log.trigger_rule_id = ${rule.id} and log.decision = 'scheduled'
       and log.trigger_on <> 'scheduled_action' and log.created_date < ${instant(before)}
       and (action.executed_at is null or action.executed_at >= ${instant(before)})`);
  const byUser = Map.groupBy(rows, ({ user_id }) => user_id);
  return new Map(
    [...byUser].map(([userId, of]) => [userId, of.map(({ until }) => (until === null ? null : Number(until)))]),
  );
}

/** What rules sent, those without caps left out, and campaigns; of the rule itself only what it sent before. */
async function loadSent(tx: Tx, account: Account, { rule, before, until, ofAction, ids }: AskedOf) {
  const longest = Math.max(...account.caps.map(({ windowSeconds }) => windowSeconds)) * 1_000_000;
  const since = before - (1 + LATE_PART) * longest; // what was decided late counts before it was decided
  const { rows } = await tx.execute<{
    user_id: string;
    decided: string;
    due: string | null;
    cycle: string | null;
    put_off: string | null;
  }>(sql`
    select log.user_id, ${MICROS(sql`log.created_date`)} as decided, ${MICROS(sql`action.due_at`)} as due,
           ${MICROS(cycleInstant)} as cycle, ${MICROS(sql`action.execute_at`)} as put_off
      from trigger_log as log left join trigger_rule as sender on sender.id = log.trigger_rule_id
      left join scheduled_action as action on action.id = log.scheduled_action_id
     where ${ofAccount(account)} and log.user_id = any(${ids})
       and log.created_date > ${instant(since)} and log.created_date <= ${instant(until)}
       and log.decision = 'fired' and log.action_type = 'send_message' and not coalesce(sender.exempt_from_caps, false)
       and (log.created_date < ${instant(until)} and (log.trigger_rule_id is distinct from ${rule.id} or log.created_date < ${instant(before)})
            or log.created_date = ${instant(until)} and exists (
              select from scheduled_action as own
               where own.id = ${ofAction ?? null} and (action.execute_at, action.id) < (own.execute_at, own.id)))
     union all
    select person.user_id, ${MICROS(sql`campaign.frozen_at`)}, null, null, null
      from unnest(${ids}) as person (user_id) cross join campaign
     where campaign.line_oa_id = ${account.lineOaId} and campaign.organization_id = ${account.organizationId}
       and campaign.frozen_at > ${instant(since)} and campaign.frozen_at < ${instant(until)}
       and ${campaignReaches(sql`person.user_id`)}`);
  const countedOf = ({ decided, due, cycle, put_off }: (typeof rows)[number]) =>
    countedAt(account.caps, {
      decided: Number(decided),
      meantFor: [due, cycle, put_off].flatMap((at) => (at === null ? [] : Number(at))),
    });
  const byUser = Map.groupBy(rows, ({ user_id }) => user_id);
  return new Map([...byUser].map(([userId, of]) => [userId, of.map(countedOf)]));
}

/** When an action of an account with caps counts that was decided at an instant, in microseconds. */
export async function countedOfAction(
  tx: Tx,
  account: Account,
  { actionId, at }: { readonly actionId: string; readonly at: number },
): Promise<number> {
  const { rows } = await tx.execute<{ due: string; cycle: string | null; put_off: string }>(sql`
    select ${MICROS(sql`due_at`)} as due, ${MICROS(cycleInstant)} as cycle, ${MICROS(sql`execute_at`)} as put_off from scheduled_action as action
     where id = ${actionId} and line_oa_id = ${account.lineOaId} and organization_id = ${account.organizationId}`);
  const meantFor = rows.flatMap(({ due, cycle, put_off }) =>
    [due, cycle, put_off].flatMap((instant) => (instant === null ? [] : Number(instant))),
  );
  return countedAt(account.caps, { decided: at, meantFor });
}

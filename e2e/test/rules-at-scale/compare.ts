import type { Db } from '@dueline/db';
import type { KnownRule } from './rules.ts';
import { unhurried } from './unhurried.ts';

/** A rule as it stands in the database. */
export interface PlacedRule extends KnownRule {
  readonly id: string;
  readonly lineOaId: string;
}

/** Writes down, in plain SQL over what the trigger recorded of people, what each rule must have decided of what was not told before. */
export async function expectDecisions(db: Db, rules: readonly PlacedRule[]): Promise<void> {
  await unhurried(db, async (client) => {
    await client.query('analyze attribute_change, proof.told, proof.expected');
    for (const rule of rules) await client.query(expectationOf(rule));
    await client.query('insert into proof.told select event_id from attribute_change on conflict do nothing');
  });
}

function expectationOf({ id, lineOaId, draft, named = 'true', holds = 'true' }: PlacedRule): string {
  const { sourceConfig, actionType, actionConfig, frequency, cooldownSeconds = 0, mode, reentry } = draft;
  const isLimited = frequency !== 'every_time' || cooldownSeconds > 0 || reentry === 'never';
  const met = `exists (select from proof.expected as earlier where earlier.trigger_rule_id = ${id} and earlier.user_id = known.user_id
                          and earlier.decision in ('fired', 'scheduled', 'observed'))`;
  const does = mode === 'observe' ? 'observed' : 'delay' in actionConfig ? 'scheduled' : 'fired';
  return `
    insert into proof.expected
    select ${lineOaId}, ${id}, user_id, event_id, split_part(outcome, ' ', 1), split_part(outcome, ' ', 2)
      from (
        select known.user_id, event_id,
               case when not coalesce(${named}, false) then 'not_matched value_not_matched'
                    when not coalesce(${holds}, false) then 'not_matched conditions_not_met'
                    when not is_following and ${actionType === 'send_message'} then 'suppressed user_not_following'
                    when ${isLimited} and ${met} then 'suppressed ${reentry === 'never' ? 'entered_before' : 'frequency'}'
                    else '${does} matched' end as outcome
          from attribute_change as told
          join line_user as known using (line_oa_id, user_id)
         cross join lateral (select changed -> '${sourceConfig.attribute}' as change) as of_attribute
         where line_oa_id = ${lineOaId} and changed ? '${sourceConfig.attribute}'
           and not exists (select from proof.told as before where before.event_id = told.event_id)
      ) as judged`;
}

/** Rows that are on one side only, each as often as it is there. */
interface Difference {
  /** Rows that plain SQL computes. */
  readonly expected: number;
  readonly missing: number;
  readonly surplus: number;
}

/** What is compared: what plain SQL computes, and what the product wrote. */
const SIDES = {
  decisions: {
    expected: `select line_oa_id, trigger_rule_id, user_id, event_id, decision, reason_code
                 from proof.expected where decision <> 'not_matched'`,
    actual: `select line_oa_id, trigger_rule_id, user_id, event_id, decision, reason_code
               from trigger_log where trigger_on = 'attribute_changed' and decision <> 'not_matched'`,
  },
  // by numbers: the history may count what a flood did not match
  notMatched: {
    expected: `select line_oa_id, trigger_rule_id, reason_code, count(*) from proof.expected where decision = 'not_matched' group by 1, 2, 3`,
    actual: `select line_oa_id, trigger_rule_id, reason_code, sum(coalesce((to_jsonb(log) ->> 'evaluations')::int, 1))
               from trigger_log as log where trigger_on = 'attribute_changed' and decision = 'not_matched' group by 1, 2, 3`,
  },
  events: {
    expected: 'select event_id from attribute_change',
    actual: `select event_id from event_archive where topic = 'attribute_changed'`,
  },
  messages: {
    expected: `select expected.line_oa_id, trigger_rule_id, user_id, event_id from proof.expected join trigger_rule as rule on rule.id = trigger_rule_id
                where decision = 'fired' and action_type = 'send_message'`,
    actual: `select line_oa_id, trigger_rule_id, user_id, event_id from delivery`,
  },
  waiting: {
    expected: `select line_oa_id, trigger_rule_id, user_id, event_id from proof.expected where decision = 'scheduled'`,
    actual: `select line_oa_id, trigger_rule_id, user_id, event_id from scheduled_action where status = 'pending'`,
  },
  members: {
    expected: `
      select distinct (action_config ->> 'audienceId')::bigint, user_id
        from proof.expected join trigger_rule as rule on rule.id = trigger_rule_id
       where decision = 'fired' and action_type = 'add_to_audience'
       union all
      select id, user_id from audience cross join proof.person
       where (name = 'fixed' and n % 3 = 0)
          or (name = 'left' and not exists (
               select from proof.expected join trigger_rule as rule on rule.id = trigger_rule_id
                where decision = 'fired' and action_type = 'remove_from_audience' and expected.user_id = person.user_id))`,
    actual: 'select audience_id, user_id from audience_member',
  },
  attributes: {
    expected: `select distinct expected.line_oa_id, user_id from proof.expected join trigger_rule as rule on rule.id = trigger_rule_id
                where decision = 'fired' and action_type = 'set_attribute'`,
    actual: `select line_oa_id, user_id from line_user where attributes -> 'vip' = 'true'`,
  },
} as const;

/** What the rules that plain SQL knows came to at least once, and how many of them ever acted. */
export async function outcomesExpected(db: Db): Promise<{ outcomes: string[]; acting: number }> {
  const { rows } = await unhurried(db, (client) =>
    client.query<{ outcomes: string[]; acting: number }>(`
    select array_agg(distinct decision || ' ' || reason_code order by decision || ' ' || reason_code) as outcomes,
           count(distinct trigger_rule_id) filter (where decision in ('fired', 'scheduled', 'observed'))::int as acting from proof.expected`),
  );
  return rows[0] ?? { outcomes: [], acting: 0 };
}

/** One decision and one message are taken away, and another of each is there twice; and something did not match once less. */
export const MEDDLED = `
  delete from trigger_log where id = (select min(id) from trigger_log where trigger_on = 'attribute_changed' and decision = 'fired');
  insert into trigger_log (organization_id, line_oa_id, trigger_rule_id, user_id, trigger_on, decision, reason_code, event_id)
  select organization_id, line_oa_id, trigger_rule_id, user_id, trigger_on, decision, reason_code, event_id
    from trigger_log where id = (select max(id) from trigger_log where trigger_on = 'attribute_changed' and decision = 'fired');
  delete from trigger_log where id = (select max(id) from trigger_log where trigger_on = 'attribute_changed' and decision = 'not_matched');
  delete from delivery where id = (select min(id) from delivery);
  insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, user_id, trigger_rule_id, event_id, retry_key, body, body_sha256, deliver_until)
  select organization_id, line_oa_id, kind, 'again', endpoint, user_id, trigger_rule_id, event_id, retry_key, body, body_sha256, deliver_until
    from delivery where id = (select max(id) from delivery);`;

export type Differences = Readonly<Record<keyof typeof SIDES, Difference>>;

/**
 * Compares what plain SQL computes with what is written, in both directions and with every repetition.
 *
 * @param meddle What is done to what is written before, and undone afterwards.
 */
export const compare = (db: Db, meddle?: string): Promise<Differences> =>
  unhurried(db, async (client) => {
    await client.query(`begin; set local work_mem = '256MB'; set local session_replication_role = replica`);
    if (meddle !== undefined) await client.query(meddle);
    const found: Partial<Record<keyof typeof SIDES, Difference>> = {};
    for (const [what, { expected, actual }] of Object.entries(SIDES)) {
      const { rows } = await client.query<Difference>(`
        with expected as materialized (${expected}), actual as materialized (${actual})
        select (select count(*) from expected)::int as expected,
               (select count(*) from (select * from expected except all select * from actual) as lost)::int as missing,
               (select count(*) from (select * from actual except all select * from expected) as more)::int as surplus`);
      Object.assign(found, { [what]: rows[0] });
    }
    await client.query('rollback');
    return found as Differences;
  });

import type { SourceType, Tenant } from '@dueline/contracts';
import { arrayLiteral, column, given, sql, statement, type Tx } from '@dueline/db';
import { parseRule, type ReadRule, RULE, type RuleRow, type TriggerRule } from './rule.ts';

/** Which rules of an account are asked for: those that listen to all of a source or to one of `keys`; left out: to whatever. */
export interface Listening extends Tenant {
  readonly keys?: readonly string[];
}

/**
 * Rules of some accounts that listen to this source: enabled, not deleted, and no drafts, in id order. Read in the transaction that decides,
 * so that none is judged as it was before.
 */
export async function liveRules(tx: Tx, sourceType: SourceType, of: readonly Listening[]): Promise<ReadRule[]> {
  const pairs = of.flatMap(({ lineOaId, keys = [] }) => [...new Set(keys)].map((key) => ({ lineOaId, key })));
  const rows = await readLive(tx, {
    sourceType,
    accounts: arrayLiteral(of.map(({ lineOaId }) => lineOaId)),
    organizations: arrayLiteral(of.map(({ organizationId }) => organizationId)),
    toWhatever: arrayLiteral(of.flatMap(({ lineOaId, keys }) => (keys === undefined ? [lineOaId] : []))),
    keyAccounts: arrayLiteral(pairs.map(({ lineOaId }) => lineOaId)),
    keys: arrayLiteral(pairs.map(({ key }) => key)),
  });
  return rows.map(parseRule);
}

const readLive = statement<
  RuleRow,
  Record<'sourceType' | 'accounts' | 'organizations' | 'toWhatever' | 'keyAccounts' | 'keys', string>
>(sql`
  select ${RULE}
    from trigger_rule as rule join line_oa as account on account.id = rule.line_oa_id
   where rule.line_oa_id = any(${given('accounts')}::bigint[])
     and (rule.line_oa_id, rule.organization_id) in (
       select * from unnest(${given('accounts')}::bigint[], ${given('organizations')}::bigint[]))
     and source_type = ${given('sourceType')} and enabled and mode <> 'draft' and rule.deleted_date is null
     and (source_key is null or rule.line_oa_id = any(${given('toWhatever')}::bigint[])
          or (rule.line_oa_id, source_key) in (select * from unnest(${given('keyAccounts')}::bigint[], ${given('keys')}::text[])))
   order by rule.id`);

/** A rule at a version; undefined when it is another one by now, or not live. */
export async function getLiveRule(
  tx: Tx,
  { lineOaId, organizationId }: Tenant,
  { ruleId, version }: { ruleId: string; version: number },
): Promise<TriggerRule | undefined> {
  const { rows } = await tx.execute<RuleRow>(sql`
    select ${RULE}
      from trigger_rule as rule join line_oa as account on account.id = rule.line_oa_id
     where rule.id = ${ruleId} and rule.line_oa_id = ${lineOaId} and rule.organization_id = ${organizationId}
       and version = ${version} and enabled and mode = 'live' and rule.deleted_date is null`);
  const [read] = rows.map(parseRule);
  return read?.kind === 'rule' ? read.rule : undefined;
}

/** What became of a rule whose action waited. `disabled`: or no longer live. `held`: the same, and its waiting actions are kept until it is enabled. */
export type RuleState = 'live' | 'disabled' | 'held' | 'deleted';

/** By rule id; a rule that does not exist any more counts as deleted and is left out. */
export async function getRuleStates(tx: Tx, ruleIds: readonly string[]): Promise<ReadonlyMap<string, RuleState>> {
  const { rows } = await tx.execute<{ id: string; state: RuleState }>(sql`
    select id, case when deleted_date is not null then 'deleted' when enabled and mode = 'live' then 'live' when when_disabled = 'hold' then 'held'
                else 'disabled' end as state
      from trigger_rule where id = any(${column([...new Set(ruleIds)], 'bigint')})`);
  return new Map(rows.map((row) => [row.id, row.state]));
}

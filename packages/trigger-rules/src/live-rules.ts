import type { SourceType, Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { parseRule, type ReadRule, RULE, type RuleRow, type TriggerRule } from './rule.ts';

/**
 * Rules of an account that listen to this source, to all of it or to one of `keys` (left out: to whatever): enabled, not deleted, and no
 * drafts, in id order. Read in the transaction that decides, so that none is judged as it was before.
 */
export async function liveRules(
  tx: Tx,
  tenant: Tenant,
  { sourceType, keys }: { sourceType: SourceType; keys?: readonly string[] },
): Promise<ReadRule[]> {
  const { rows } = await tx.execute<RuleRow>(sql`
    select ${RULE}
      from trigger_rule as rule join line_oa as account on account.id = rule.line_oa_id
     where rule.line_oa_id = ${tenant.lineOaId} and rule.organization_id = ${tenant.organizationId}
       and source_type = ${sourceType} and enabled and mode <> 'draft' and rule.deleted_date is null
       ${keys === undefined ? sql`` : sql`and (source_key is null or source_key = any(${column([...new Set(keys)], 'text')}))`}
     order by rule.id`);
  return rows.map(parseRule);
}

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

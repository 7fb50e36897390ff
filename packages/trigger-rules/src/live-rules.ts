import type { SourceType, Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { parseRule, type ReadRule, type RuleRow } from './rule.ts';

/**
 * Rules of an account that listen to this source, to all of it or to one of `keys` (left out: to whatever): enabled and not deleted, in id order. Read
 * in the transaction that decides, so that none is judged as it was before.
 */
export async function liveRules(
  tx: Tx,
  tenant: Tenant,
  { sourceType, keys }: { sourceType: SourceType; keys?: readonly string[] },
): Promise<ReadRule[]> {
  const { rows } = await tx.execute<RuleRow>(sql`
    select id, organization_id, line_oa_id, version, source_type, source_config, action_type, action_config, frequency,
           cooldown_seconds
      from trigger_rule
     where line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId}
       and source_type = ${sourceType} and enabled and deleted_date is null
       ${keys === undefined ? sql`` : sql`and (source_key is null or source_key = any(${column([...new Set(keys)], 'text')}))`}
     order by id`);
  return rows.map(parseRule);
}

/** What became of a rule whose action waited. `held`: disabled, and its waiting actions are kept until it is enabled. */
export type RuleState = 'live' | 'disabled' | 'held' | 'deleted';

/** By rule id; a rule that does not exist any more counts as deleted and is left out. */
export async function getRuleStates(tx: Tx, ruleIds: readonly string[]): Promise<ReadonlyMap<string, RuleState>> {
  const { rows } = await tx.execute<{ id: string; state: RuleState }>(sql`
    select id, case when deleted_date is not null then 'deleted' when enabled then 'live' when when_disabled = 'hold' then 'held'
                else 'disabled' end as state
      from trigger_rule where id = any(${column([...new Set(ruleIds)], 'bigint')})`);
  return new Map(rows.map((row) => [row.id, row.state]));
}

import type { ActionType, Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { parseRule, RULE, type RuleRow, type TriggerRule } from './rule.ts';
import type { RuleSource } from './sources.ts';

/** A rule that time sets off: whom its cycles are for stands in its source_config. */
export type ScheduledRule = TriggerRule<ActionType> & RuleSource<'scheduled_time'>;

/** What a cycle of a rule goes on with: the rule, or why it has none any more. */
export type FoundScheduledRule =
  | { readonly kind: 'rule'; readonly rule: ScheduledRule }
  | { readonly kind: 'gone'; readonly reason: 'rule_deleted' | 'rule_disabled' | 'rule_invalid' };

/** A time rule of an account as it is now, read in the transaction that acts on it. A draft is as good as disabled. */
export async function findScheduledRule(tx: Tx, tenant: Tenant, ruleId: string): Promise<FoundScheduledRule> {
  const { rows } = await tx.execute<RuleRow & { deleted: boolean; off: boolean }>(sql`
    select ${RULE}, rule.deleted_date is not null as deleted, not enabled or mode = 'draft' or source_type <> 'scheduled_time' as off
      from trigger_rule as rule join line_oa as account on account.id = rule.line_oa_id
     where rule.id = ${ruleId} and rule.line_oa_id = ${tenant.lineOaId} and rule.organization_id = ${tenant.organizationId}`);
  const [row] = rows;
  if (row === undefined || row.deleted) return { kind: 'gone', reason: 'rule_deleted' };
  if (row.off) return { kind: 'gone', reason: 'rule_disabled' };
  const read = parseRule(row);
  return read.kind === 'rule' && isScheduled(read.rule)
    ? { kind: 'rule', rule: read.rule }
    : { kind: 'gone', reason: 'rule_invalid' };
}

const isScheduled = (rule: TriggerRule): rule is ScheduledRule => rule.sourceType === 'scheduled_time';

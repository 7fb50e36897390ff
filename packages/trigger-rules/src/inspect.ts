import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, sql } from '@dueline/db';
import type { RuleDocument } from './author.ts';
import { DOCUMENT } from './rule.ts';

/** A rule in a list of an account's. */
export interface RuleSummary {
  readonly id: string;
  readonly version: number;
  readonly document: RuleDocument;
}

/** A rule of which a person wants to know more. Instants are RFC 3339. */
export interface RuleDetail extends RuleSummary {
  /** Its versions, the newest first, 20 at most. */
  readonly versions: readonly { readonly version: number; readonly createdAt: string; readonly snapshot: unknown }[];
  /** What was decided within the last 7 days, with how often. */
  readonly decisions: readonly { readonly decision: string; readonly reasonCode: string; readonly count: number }[];
}

/** Versions that are told of a rule. */
const MAX_VERSIONS = 20;
/** How far back decisions are counted. */
const HISTORY_DAYS = 7;

/** The rules of an account that are not deleted, by name. */
export function listRules(db: Db, tenant: Tenant): Promise<RuleSummary[]> {
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<RuleSummary & Record<string, unknown>>(sql`
      select id, version, ${DOCUMENT} as document from trigger_rule as rule where deleted_date is null order by name, id`);
    return rows.map(({ id, version, document }) => ({ id, version, document }));
  });
}

/** A rule, whose versions it had, and what came of it. Undefined: the account has no such rule, or deleted it. */
export function showRule(db: Db, tenant: Tenant, { ruleId }: { ruleId: string }): Promise<RuleDetail | undefined> {
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<RuleSummary & Record<string, unknown>>(sql`
      select id, version, ${DOCUMENT} as document from trigger_rule as rule where id = ${ruleId} and deleted_date is null`);
    const [rule] = rows;
    if (rule === undefined) return undefined;
    const versions = await tx.execute<RuleDetail['versions'][number] & Record<string, unknown>>(sql`
      select version, to_json(created_date) #>> '{}' as "createdAt", snapshot
        from trigger_rule_version where trigger_rule_id = ${ruleId} order by version desc limit ${MAX_VERSIONS}`);
    const decisions = await tx.execute<RuleDetail['decisions'][number] & Record<string, unknown>>(sql`
      select decision, reason_code as "reasonCode", sum(evaluations)::int as count
        from trigger_log
       where trigger_rule_id = ${ruleId} and created_date > app_now() - make_interval(days => ${HISTORY_DAYS})
       group by decision, reason_code order by 3 desc, decision, reason_code`);
    const { id, version, document } = rule;
    return { id, version, document, versions: versions.rows, decisions: decisions.rows };
  });
}

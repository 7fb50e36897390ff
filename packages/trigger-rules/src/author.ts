import {
  ACTION_TYPES,
  type ActionType,
  FREQUENCIES,
  isStorable,
  NOT_STORABLE,
  RULE_ACTION_CONFIGS,
  type RuleAction,
  type RuleActionDraft,
  SOURCE_TYPES,
  type SourceType,
  type Tenant,
} from '@dueline/contracts';
import { type Db, inTenant, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { hasAudiences } from './condition-audiences.ts';
import { describeIssue } from './rule.ts';
import { type RuleSourceDraft, SOURCE_CONFIGS } from './sources.ts';

const ruleDraft = z.strictObject({
  name: z.string().min(1).max(200).refine(isStorable, NOT_STORABLE),
  sourceType: z.enum(SOURCE_TYPES),
  sourceConfig: z.unknown(),
  actionType: z.enum(ACTION_TYPES),
  actionConfig: z.unknown(),
  enabled: z.boolean().default(true),
  whenDisabled: z.enum(['cancel', 'hold']).default('cancel'),
  frequency: z.enum(FREQUENCIES).default('once_per_hour'), // the seeds' default
  cooldownSeconds: z.number().int().min(0).max(2_147_483_647).default(0),
});

/** A rule as a person writes it; its source is attribute changes unless `Source` says otherwise. */
export type RuleDraft<Type extends ActionType = ActionType, Source extends SourceType = 'attribute_changed'> = Omit<
  z.input<typeof ruleDraft>,
  keyof RuleActionDraft | keyof RuleSourceDraft
> &
  RuleSourceDraft<Source> &
  RuleActionDraft<Type>;

/**
 * Creates a rule, live at once, and returns its id.
 *
 * @throws PermanentError whose message names the first wrong field as a JSON pointer and what is wrong with it.
 */
export async function createRule(db: Db, tenant: Tenant, draft: RuleDraft<ActionType, SourceType>): Promise<string> {
  const parsed = ruleDraft.safeParse(draft);
  if (!parsed.success) throw new PermanentError(`rule is invalid at ${describeIssue('rule', parsed.error)}`);
  const source = SOURCE_CONFIGS[parsed.data.sourceType].safeParse(parsed.data.sourceConfig);
  if (!source.success)
    throw new PermanentError(`rule is invalid at ${describeIssue('rule/sourceConfig', source.error)}`);
  const action = RULE_ACTION_CONFIGS[parsed.data.actionType].safeParse(parsed.data.actionConfig);
  if (!action.success)
    throw new PermanentError(`rule is invalid at ${describeIssue('rule/actionConfig', action.error)}`);
  const rule = { ...parsed.data, sourceConfig: source.data, actionConfig: action.data };
  return inTenant(db, tenant, async (tx) => {
    await checkReferences(tx, rule);
    if (!(await hasAudiences(tx, source.data)))
      throw new PermanentError(
        'rule is invalid at /rule/sourceConfig/conditions: there is no such audience in this account',
      );
    const { rows } = await tx.execute<{ id: string }>(sql`
      insert into trigger_rule (organization_id, line_oa_id, name, source_type, source_config, action_type, action_config, enabled,
                                when_disabled, frequency, cooldown_seconds)
      values (${tenant.organizationId}, ${tenant.lineOaId}, ${rule.name}, ${rule.sourceType}, ${JSON.stringify(rule.sourceConfig)},
              ${rule.actionType}, ${JSON.stringify(rule.actionConfig)}, ${rule.enabled}, ${rule.whenDisabled}, ${rule.frequency}, ${rule.cooldownSeconds})
      returning id`);
    if (rows[0] === undefined) throw new Error('insert returned no row');
    return rows[0].id;
  });
}

/** What an action names must be there, in this account. */
async function checkReferences(tx: Tx, { actionConfig }: { actionConfig: RuleAction['actionConfig'] }): Promise<void> {
  if ('audienceId' in actionConfig) {
    const { rowCount } = await tx.execute(sql`
      select from audience where id = ${actionConfig.audienceId} and deleted_date is null`);
    if (rowCount === 0) throw missing('audienceId', 'audience');
  }
  if ('richMenuId' in actionConfig) {
    const { rowCount } = await tx.execute(sql`
      select from rich_menu where id = ${actionConfig.richMenuId} and deleted_date is null`);
    if (rowCount === 0) throw missing('richMenuId', 'rich menu');
  }
}

const missing = (field: string, what: string) =>
  new PermanentError(`rule is invalid at /rule/actionConfig/${field}: there is no such ${what} in this account`);

/** Deletes a rule softly: it fires no more, and its waiting actions are cancelled, by the sweep or when they come due. False: no such live rule. */
export async function deleteRule(db: Db, tenant: Tenant, ruleId: string): Promise<boolean> {
  return inTenant(db, tenant, async (tx) => {
    const { rowCount } = await tx.execute(sql`
      update trigger_rule set deleted_date = app_now(), updated_date = app_now(), version = version + 1
       where id = ${ruleId} and deleted_date is null`);
    return rowCount === 1;
  });
}

/** Switches a rule on or off. A disabled rule's waiting actions are looked at when due: cancelled, or held until it is enabled. False: no such live rule. */
export async function setRuleEnabled(
  db: Db,
  tenant: Tenant,
  { ruleId, enabled }: { ruleId: string; enabled: boolean },
): Promise<boolean> {
  return inTenant(db, tenant, async (tx) => {
    const { rowCount } = await tx.execute(sql`
      update trigger_rule set enabled = ${enabled}, updated_date = app_now(), version = version + 1
       where id = ${ruleId} and deleted_date is null`);
    return rowCount === 1;
  });
}

import {
  ACTION_TYPES,
  type ActionType,
  FREQUENCIES,
  isStorable,
  NOT_STORABLE,
  REENTRIES,
  RULE_ACTION_CONFIGS,
  RULE_MODES,
  type RuleAction,
  type RuleActionDraft,
  type RuleMode,
  SOURCE_TYPES,
  type SourceType,
  type Tenant,
} from '@dueline/contracts';
import { type Db, inTenant, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { hasAudiences } from './condition-audiences.ts';
import { DOCUMENT, describeIssue } from './rule.ts';
import { type RuleSource, type RuleSourceDraft, SOURCE_CONFIGS } from './sources.ts';

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
  reentry: z.enum(REENTRIES).default('always'),
  mode: z.enum(RULE_MODES).default('live'),
  exemptFromCaps: z.boolean().default(false),
  fullHistory: z.boolean().default(false),
});

/** A rule as a person writes it; its source is attribute changes unless `Source` says otherwise. */
export type RuleDraft<Type extends ActionType = ActionType, Source extends SourceType = 'attribute_changed'> = Omit<
  z.input<typeof ruleDraft>,
  keyof RuleActionDraft | keyof RuleSourceDraft
> &
  RuleSourceDraft<Source> &
  RuleActionDraft<Type>;

/** A rule as its author sees it, with what was left out filled in. */
export type RuleDocument = Omit<z.output<typeof ruleDraft>, keyof RuleAction | keyof RuleSource> &
  RuleSource &
  RuleAction;

/** What else is wrong with the source of a rule that is well-formed, with the field of its `sourceConfig`: what another package knows. */
export type CheckSource = (source: RuleSource) => { readonly field: string; readonly problem: string } | undefined;

/**
 * Reads what a person wrote as a rule. Pure.
 *
 * @param options.root What the JSON pointer to a wrong field begins with, `rule` or nothing.
 * @param options.checkSource What else to ask about its source; nothing unless given.
 */
export function readRule(
  draft: unknown,
  { root = 'rule', checkSource }: { root?: 'rule' | ''; checkSource?: CheckSource | undefined } = {},
): { readonly rule: RuleDocument } | { readonly problem: string } {
  const parsed = ruleDraft.safeParse(draft);
  if (!parsed.success) return { problem: describeIssue(root, parsed.error) };
  const source = SOURCE_CONFIGS[parsed.data.sourceType].safeParse(parsed.data.sourceConfig);
  if (!source.success) return { problem: describeIssue(root, source.error, 'sourceConfig') };
  const wrong = checkSource?.({ sourceType: parsed.data.sourceType, sourceConfig: source.data } as RuleSource); // as below
  if (wrong !== undefined)
    return {
      problem: describeIssue(root, { issues: [{ path: [wrong.field], message: wrong.problem }] }, 'sourceConfig'),
    };
  const action = RULE_ACTION_CONFIGS[parsed.data.actionType].safeParse(parsed.data.actionConfig);
  if (!action.success) return { problem: describeIssue(root, action.error, 'actionConfig') };
  return { rule: { ...parsed.data, sourceConfig: source.data, actionConfig: action.data } as RuleDocument }; // the schema is that of the type
}

/**
 * Creates a rule, live at once unless its mode says otherwise, and returns its id.
 *
 * @throws PermanentError whose message names the first wrong field as a JSON pointer and what is wrong with it.
 */
export async function createRule(db: Db, tenant: Tenant, draft: RuleDraft<ActionType, SourceType>): Promise<string> {
  const read = readRule(draft);
  if ('problem' in read) throw invalid(read.problem);
  return inTenant(db, tenant, (tx) => insertRule(tx, tenant, read.rule));
}

const invalid = (problem: string) => new PermanentError(`rule is invalid at ${problem}`);

/** @throws PermanentError when what the rule names is not in the account. */
export async function insertRule(tx: Tx, tenant: Tenant, rule: RuleDocument): Promise<string> {
  const missing = await missingReference(tx, rule);
  if (missing !== undefined) throw invalid(missing);
  const { rows } = await tx.execute<{ id: string }>(sql`
    insert into trigger_rule (organization_id, line_oa_id, name, source_type, source_config, action_type, action_config, enabled,
                              when_disabled, frequency, cooldown_seconds, reentry, mode, exempt_from_caps, full_history)
    values (${tenant.organizationId}, ${tenant.lineOaId}, ${rule.name}, ${rule.sourceType}, ${JSON.stringify(rule.sourceConfig)},
            ${rule.actionType}, ${JSON.stringify(rule.actionConfig)}, ${rule.enabled}, ${rule.whenDisabled}, ${rule.frequency},
            ${rule.cooldownSeconds}, ${rule.reentry}, ${rule.mode}, ${rule.exemptFromCaps}, ${rule.fullHistory})
    returning id`);
  if (rows[0] === undefined) throw new Error('insert returned no row');
  return rows[0].id;
}

/** What a rule names that is not there, in this account, with the pointer to it. */
export async function missingReference(
  tx: Tx,
  { actionConfig, sourceConfig }: Pick<RuleDocument, 'actionConfig' | 'sourceConfig'>,
  root: 'rule' | '' = 'rule',
): Promise<string | undefined> {
  const begin = root === '' ? '' : `/${root}`;
  const at = (field: string) => `${begin}/actionConfig/${field}`;
  const says = (what: string) => `there is no such ${what} in this account`;
  if ('audienceId' in actionConfig) {
    const { rowCount } = await tx.execute(sql`
      select from audience where id = ${actionConfig.audienceId} and deleted_date is null`);
    if (rowCount === 0) return `${at('audienceId')}: ${says('audience')}`;
  }
  if ('richMenuId' in actionConfig) {
    const { rowCount } = await tx.execute(sql`
      select from rich_menu where id = ${actionConfig.richMenuId} and deleted_date is null`);
    if (rowCount === 0) return `${at('richMenuId')}: ${says('rich menu')}`;
  }
  if ('campaignId' in sourceConfig && sourceConfig.campaignId !== undefined) {
    const { rowCount } = await tx.execute(sql`
      select from campaign where id = ${sourceConfig.campaignId} and deleted_date is null`);
    if (rowCount === 0) return `${begin}/sourceConfig/campaignId: ${says('campaign')}`;
  }
  if (!(await hasAudiences(tx, sourceConfig))) return `${begin}/sourceConfig/conditions: ${says('audience')}`;
  return undefined;
}

/** On the pool in a transaction of its own; in a caller's transaction as it is, which says whose rows it sees. */
export const within = <T>(on: Db | Tx, tenant: Tenant, work: (tx: Tx) => Promise<T>): Promise<T> =>
  '$client' in on ? inTenant(on, tenant, work) : work(on);

const ofTenant = ({ organizationId, lineOaId }: Tenant, ruleId: string) => sql`
  id = ${ruleId} and organization_id = ${organizationId} and line_oa_id = ${lineOaId} and deleted_date is null`;

/** Deletes a rule softly: it fires no more, and its waiting actions are cancelled, by the sweep or when they come due. False: no such live rule. */
export const deleteRule = (on: Db | Tx, tenant: Tenant, ruleId: string): Promise<boolean> =>
  within(on, tenant, async (tx) => {
    const { rowCount } = await tx.execute(sql`
      update trigger_rule set deleted_date = app_now(), updated_date = app_now() where ${ofTenant(tenant, ruleId)}`);
    return rowCount === 1;
  });

/** Switches a rule on or off. A disabled rule's waiting actions are looked at when due: cancelled, or held until it is enabled. False: no such live rule. */
export const setRuleEnabled = (
  on: Db | Tx,
  tenant: Tenant,
  { ruleId, enabled }: { ruleId: string; enabled: boolean },
): Promise<boolean> =>
  within(on, tenant, async (tx) => {
    const { rowCount } = await tx.execute(sql`
      update trigger_rule set enabled = ${enabled}, updated_date = app_now() where ${ofTenant(tenant, ruleId)}`);
    return rowCount === 1;
  });

/**
 * Makes a rule a draft, lets it observe, or publishes it (`live`). What waits under a rule that is no longer live is treated as that of a
 * disabled one. False: no such live rule.
 *
 * @throws PermanentError, as {@link createRule}, when a rule that is to be looked at is not valid, or what it names is not there any more.
 */
export const setRuleMode = (
  on: Db | Tx,
  tenant: Tenant,
  { ruleId, mode }: { ruleId: string; mode: RuleMode },
): Promise<boolean> =>
  within(on, tenant, async (tx) => {
    const { rows } = await tx.execute<{ document: unknown }>(sql`
      select ${DOCUMENT} as document from trigger_rule as rule where ${ofTenant(tenant, ruleId)} for update`);
    const [found] = rows;
    if (found === undefined) return false;
    if (mode !== 'draft') await checkStored(tx, found.document);
    await tx.execute(sql`
      update trigger_rule set mode = ${mode}, updated_date = app_now() where ${ofTenant(tenant, ruleId)}`);
    return true;
  });

async function checkStored(tx: Tx, document: unknown): Promise<void> {
  const read = readRule(document);
  if ('problem' in read) throw invalid(read.problem);
  const missing = await missingReference(tx, read.rule);
  if (missing !== undefined) throw invalid(missing);
}

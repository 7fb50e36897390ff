import {
  type ActionType,
  type Frequency,
  type Reentry,
  RULE_ACTION_CONFIGS,
  type RuleAction,
  type SourceType,
  type Tenant,
} from '@dueline/contracts';
import { sql } from '@dueline/db';
import { type RuleSource, SOURCE_CONFIGS } from './sources.ts';

interface RuleFields extends Tenant {
  readonly id: string;
  readonly version: number;
  readonly frequency: Frequency;
  readonly cooldownSeconds: number;
  readonly reentry: Reentry;
  /** A draft is never read. */
  readonly mode: 'observe' | 'live';
  /** Whether its account caps what is sent to one person, and the rule is not exempt. */
  readonly isCapped: boolean;
  /** Whether everybody whom it did not match has a row in the history, also of a flood. */
  readonly fullHistory: boolean;
  /** Whether its account drops what its quiet hours forbid. */
  readonly dropsInQuietHours: boolean;
}

/** A rule as it was when it was read; configs have been checked against their schemas. */
export type TriggerRule<Type extends ActionType = ActionType> = RuleFields & RuleSource & RuleAction<Type>;

/** A rule as its table, or a version of it, says it. */
export type RuleRow = {
  id: string;
  organization_id: string;
  line_oa_id: string;
  version: number;
  source_type: SourceType;
  source_config: unknown;
  action_type: ActionType;
  action_config: unknown;
  frequency: Frequency;
  cooldown_seconds: number;
  reentry: Reentry;
  mode: 'observe' | 'live';
  full_history: boolean;
  capped: boolean;
  drops: boolean;
};

/** The columns of `trigger_rule as rule join line_oa as account` that make a {@link RuleRow}. */
export const RULE = sql`
  rule.id, rule.organization_id, rule.line_oa_id, version, source_type, source_config, action_type, action_config, frequency, cooldown_seconds,
  reentry, mode, full_history, not exempt_from_caps and exists (select from frequency_cap as cap where cap.line_oa_id = rule.line_oa_id) as capped,
  account.quiet_from is not null and account.quiet_policy = 'drop' as drops`;

/** A row of `trigger_rule as rule` as its author sees it. */
export const DOCUMENT = sql`
  jsonb_build_object('name', name, 'sourceType', source_type, 'sourceConfig', source_config, 'actionType', action_type,
                     'actionConfig', action_config, 'enabled', enabled, 'whenDisabled', when_disabled, 'frequency', frequency,
                     'cooldownSeconds', cooldown_seconds, 'reentry', reentry, 'mode', mode, 'exemptFromCaps', exempt_from_caps,
                     'fullHistory', full_history)`;

/** A row that another service wrote past our authoring may break its schema: such a rule is `invalid`, and harms no other. */
export type ReadRule = { kind: 'rule'; rule: TriggerRule } | { kind: 'invalid'; row: RuleRow; problem: string };

/** Checks what a row says against the schemas of its source and action. Pure. */
export function parseRule(row: RuleRow): ReadRule {
  const source = parseRuleSource(row);
  const action = parseRuleAction(row);
  if (!source.success) return { kind: 'invalid', row, problem: describeIssue('sourceConfig', source.error) };
  if (!action.success) return { kind: 'invalid', row, problem: describeIssue('actionConfig', action.error) };
  return {
    kind: 'rule',
    rule: {
      id: row.id,
      organizationId: row.organization_id,
      lineOaId: row.line_oa_id,
      version: row.version,
      ...source.data,
      ...action.data,
      frequency: row.frequency,
      cooldownSeconds: row.cooldown_seconds,
      reentry: row.reentry,
      mode: row.mode,
      fullHistory: row.full_history,
      isCapped: row.capped,
      dropsInQuietHours: row.drops,
    },
  };
}

function parseRuleSource({ source_type, source_config }: RuleRow) {
  const parsed = SOURCE_CONFIGS[source_type].safeParse(source_config);
  if (!parsed.success) return parsed;
  return { success: true as const, data: { sourceType: source_type, sourceConfig: parsed.data } as RuleSource }; // as below
}

function parseRuleAction({ action_type, action_config }: RuleRow) {
  const parsed = RULE_ACTION_CONFIGS[action_type].safeParse(action_config);
  if (!parsed.success) return parsed;
  // the schema is that of the type, which the compiler cannot follow through the table
  return { success: true as const, data: { actionType: action_type, actionConfig: parsed.data } as RuleAction };
}

type SchemaError = { issues: readonly { path: readonly PropertyKey[]; message: string }[] };

/** The first problem, with a JSON pointer to the field, which begins with `root` unless that is empty. */
export function describeIssue(root: string, { issues }: SchemaError, ...within: string[]): string {
  const [issue] = issues;
  const steps = [...(root === '' ? [] : [root]), ...within, ...(issue?.path ?? []).map(String)];
  const pointer = steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return `${pointer || '/'}: ${issue?.message ?? 'invalid'}`;
}

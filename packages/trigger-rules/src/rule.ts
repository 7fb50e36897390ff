import {
  type ActionType,
  type Frequency,
  RULE_ACTION_CONFIGS,
  type RuleAction,
  type SourceType,
  type Tenant,
} from '@dueline/contracts';
import { type RuleSource, SOURCE_CONFIGS } from './sources.ts';

interface RuleFields extends Tenant {
  readonly id: string;
  readonly version: number;
  readonly frequency: Frequency;
  readonly cooldownSeconds: number;
}

/** A rule as it was when it was read; configs have been checked against their schemas. */
export type TriggerRule<Type extends ActionType = ActionType> = RuleFields & RuleSource & RuleAction<Type>;

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
};

/** A row that another service wrote past our authoring may break its schema: such a rule is `invalid`, and harms no other. */
export type ReadRule = { kind: 'rule'; rule: TriggerRule } | { kind: 'invalid'; row: RuleRow; problem: string };

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

/** The first problem, with a JSON pointer to the field. */
export function describeIssue(root: string, { issues }: SchemaError): string {
  const [issue] = issues;
  return `/${[root, ...(issue?.path ?? [])].map(String).join('/')}: ${issue?.message ?? 'invalid'}`;
}

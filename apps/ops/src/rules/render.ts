import type { Applied, FieldChange, RuleChange, RuleDetail, RuleSummary } from '@dueline/trigger-rules';
import { oneLine, tableOf, timeIn } from '../actions/table.ts';

const MARK = { create: '+', update: '~', none: ' ' } as const;
/** Columns of a value in a difference. */
const VALUE_WIDTH = 100;

/** What applying would change, or changed, for a person. */
export function renderApplied({ changes, token, isApplied }: Applied, again: string): string[] {
  const changed = changes.filter(({ kind }) => kind !== 'none');
  const same = changes.length - changed.length;
  const lines = changed.flatMap(renderChange);
  const rest = same === 0 ? [] : [`  ${same} as ${same === 1 ? 'it is' : 'they are'} already`];
  if (changed.length === 0) return [...rest, 'nothing to change'];
  if (isApplied) return [...lines, ...rest, 'applied'];
  return [...lines, ...rest, `nothing is changed yet; ${again} --confirm ${token} does it`];
}

const renderChange = ({ name, kind, ruleId, fields }: RuleChange): string[] => [
  `${MARK[kind]} ${oneLine(name, 80)}${ruleId === null ? '' : ` (rule ${ruleId})`}`,
  ...fields.map(renderField),
];

function renderField({ pointer, from, to }: FieldChange): string {
  const [old, now] = [from, to].map((value) =>
    value === undefined ? '' : oneLine(JSON.stringify(value), VALUE_WIDTH),
  );
  return `    ${pointer}: ${old === '' ? now : now === '' ? `${old} is taken away` : `${old} -> ${now}`}`;
}

const stateOf = ({ document: { mode, enabled } }: RuleSummary): string => (enabled ? mode : `${mode}, disabled`);

export function renderRules(rules: readonly RuleSummary[]): string[] {
  if (rules.length === 0) return ['the account has no rule'];
  return tableOf(
    ['id', 'name', 'version', 'state', 'when', 'then', 'how often'],
    rules.map((rule) => {
      const { id, version, document } = rule;
      const when = oneLine(`${document.sourceType} ${JSON.stringify(document.sourceConfig)}`, 60);
      return [
        id,
        oneLine(document.name, 40),
        String(version),
        stateOf(rule),
        when,
        document.actionType,
        document.frequency,
      ];
    }),
  );
}

export function renderRule(rule: RuleDetail, zone: string): string[] {
  const { id, version, document, versions, decisions } = rule;
  const history = tableOf(
    ['decision', 'reason', 'times in 7 days'],
    decisions.map(({ decision, reasonCode, count }) => [decision, reasonCode, String(count)]),
  );
  const kept = tableOf(
    ['version', 'since'],
    versions.map(({ version: of, createdAt }) => [String(of), timeIn(zone, createdAt)]),
  );
  return [
    `rule ${id}: ${oneLine(document.name, 80)}, version ${version}, ${stateOf(rule)}`,
    ...JSON.stringify(document, null, 2).split('\n'),
    '',
    ...(decisions.length === 0 ? ['nothing was decided in 7 days'] : history),
    '',
    ...kept,
  ];
}

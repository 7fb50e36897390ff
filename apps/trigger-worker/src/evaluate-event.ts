import type { RuleAction } from '@dueline/contracts';
import type { EventOf, OutboxEvent } from '@dueline/db/changes';
import type { LineUser } from '@dueline/recipients';
import { type LogEntry, matchAttributeChange, type ReadRule, type TriggerRule } from '@dueline/trigger-rules';
import { isPerformedHere } from './perform.ts';

/** How many changes that actions made may lead to each other; a rule that such a chain would set off once more is stopped. */
export const MAX_DEPTH = 10;

/** A rule that an event set off, before frequency and cooldown have their say. */
export interface Candidate {
  readonly event: EventOf<'attribute_changed'>;
  readonly rule: TriggerRule;
  readonly userId: string;
}

export interface Evaluated {
  readonly candidates: readonly Candidate[];
  /** History of what ended here. */
  readonly rejected: readonly LogEntry[];
}

/** Which rules an event sets off, and why the others do not. Rules on attributes that did not change are not evaluated. Pure. */
export function evaluateEvent(
  event: EventOf<'attribute_changed'>,
  rules: readonly ReadRule[],
  user: LineUser | undefined,
): Evaluated {
  const candidates: Candidate[] = [];
  const rejected: LogEntry[] = [];
  for (const read of rules) {
    if (read.kind === 'invalid') {
      rejected.push({ ...entryOf(event), ...invalidRule(read) });
      continue;
    }
    const { rule } = read;
    const change = event.changed.get(rule.sourceConfig.attribute);
    if (change === undefined) continue;
    const rejection = rejectionOf(rule, change, user) ?? loopOf(event);
    if (rejection === undefined) candidates.push({ event, rule, userId: event.userId });
    else rejected.push({ ...entryOf(event), ...ruleFields(rule), ...rejection });
  }
  return { candidates, rejected };
}

type Rejection = Pick<LogEntry, 'decision' | 'reasonCode' | 'detail'>;

function rejectionOf(
  rule: TriggerRule,
  change: Parameters<typeof matchAttributeChange>[1],
  user: LineUser | undefined,
): Rejection | undefined {
  if (user === undefined) return { decision: 'suppressed', reasonCode: 'user_unknown' };
  const match = matchAttributeChange(rule.sourceConfig, change, user.attributes);
  if (!match.matches) {
    return {
      decision: 'not_matched',
      reasonCode: match.reason,
      detail: 'leaves' in match ? { leaves: match.leaves } : undefined,
    };
  }
  return user.isFollowing || isPerformedHere(rule)
    ? undefined
    : { decision: 'suppressed', reasonCode: 'user_not_following' };
}

const loopOf = ({ depth, causeId }: OutboxEvent): Rejection | undefined =>
  depth < MAX_DEPTH ? undefined : { decision: 'suppressed', reasonCode: 'rule_loops', detail: { depth, causeId } };

/** The fields of a history row that come from the event. */
export function entryOf(event: OutboxEvent) {
  const { organizationId, lineOaId, userId, eventId, rootId } = event;
  return { organizationId, lineOaId, userId, eventId, rootId, triggerOn: event.topic };
}

/** The fields of a history row that come from the rule. */
export function ruleFields(rule: TriggerRule) {
  const { actionType, actionConfig } = rule;
  return { triggerRuleId: rule.id, ruleVersion: rule.version, action: { actionType, actionConfig } as RuleAction };
}

function invalidRule({ row, problem }: Extract<ReadRule, { kind: 'invalid' }>) {
  return {
    triggerRuleId: row.id,
    ruleVersion: row.version,
    action: null,
    decision: 'failed',
    reasonCode: 'rule_invalid',
    errorMessage: problem,
  } as const;
}

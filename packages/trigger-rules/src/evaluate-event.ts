import type { Facts } from '@dueline/conditions';
import { type ActionRequest, PERFORMED_BY, type Recipient, type RuleAction } from '@dueline/contracts';
import type { OutboxEvent } from '@dueline/db/changes';
import type { LogEntry } from './log.ts';
import { listensTo, matchEvent } from './match.ts';
import type { ReadRule, TriggerRule } from './rule.ts';

/** How many changes that actions made may lead to each other; a rule that such a chain would set off once more is stopped. */
export const MAX_DEPTH = 10;

/** A person, as far as a decision looks at them. */
export interface Person extends Recipient {
  readonly isFollowing: boolean;
}

/** Whether our own database performs the action, so that it is done with the decision. */
export const isPerformedHere = ({ actionType }: Pick<ActionRequest, 'actionType'>): boolean =>
  PERFORMED_BY[actionType] === 'database';

/** Whether the action is for people who follow the account only: LINE does nothing for others. */
export const needsFriend = ({ actionType }: Pick<ActionRequest, 'actionType'>): boolean =>
  PERFORMED_BY[actionType] === 'line';

/** What sets off a rule: an event, or that somebody lets people enter who match it already. */
export type Cause = Pick<
  OutboxEvent,
  'organizationId' | 'lineOaId' | 'userId' | 'eventId' | 'rootId' | 'causeId' | 'depth' | 'bulk' | 'traceparent'
> & { readonly topic: string };

/** A rule that an event set off, before frequency and cooldown have their say. */
export interface Candidate {
  readonly event: Cause;
  readonly rule: TriggerRule;
  readonly userId: string;
  /** The person, as the rule was judged. */
  readonly user: Person;
  /** What it was judged by. */
  readonly facts: Facts;
}

export interface Evaluated {
  readonly candidates: readonly Candidate[];
  /** History of what ended here. */
  readonly rejected: readonly LogEntry[];
  /** The same of a flood that a rule did not match, which is counted rather than written down one by one. */
  readonly flooding: readonly LogEntry[];
}

/** Whom an event is about, and what each rule is judged by. */
export interface Known {
  readonly user: Person;
  readonly factsFor: (rule: TriggerRule) => Facts;
}

/**
 * Which rules an event sets off, and why the others do not. Rules that do not listen to it are not evaluated. Pure: whoever decides, explains or
 * tries out a rule asks this.
 *
 * @param known Undefined: nobody knows the person.
 */
export function evaluateEvent(event: OutboxEvent, rules: readonly ReadRule[], known: Known | undefined): Evaluated {
  const candidates: Candidate[] = [];
  const rejected: LogEntry[] = [];
  const flooding: LogEntry[] = [];
  for (const read of rules) {
    if (read.kind === 'invalid') {
      rejected.push({ ...entryOf(event), ...invalidRule(read) });
      continue;
    }
    const { rule } = read;
    if (!listensTo(rule, event)) continue;
    const judged =
      known === undefined ? UNKNOWN : judge(rule, event, { user: known.user, facts: known.factsFor(rule) });
    if (!('decision' in judged)) candidates.push(judged);
    else {
      const isCounted = event.bulk && !rule.fullHistory && judged.decision === 'not_matched';
      (isCounted ? flooding : rejected).push({ ...entryOf(event), ...ruleFields(rule), ...judged });
    }
  }
  return { candidates, rejected, flooding };
}

type Rejection = Pick<LogEntry, 'decision' | 'reasonCode' | 'detail'>;

const UNKNOWN: Rejection = { decision: 'suppressed', reasonCode: 'user_unknown' };

function judge(rule: TriggerRule, event: OutboxEvent, known: Pick<Candidate, 'user' | 'facts'>): Rejection | Candidate {
  return rejectionOf(rule, event, known) ?? loopOf(event) ?? { event, rule, userId: event.userId, ...known };
}

function rejectionOf(
  rule: TriggerRule,
  event: OutboxEvent,
  { user, facts }: Pick<Candidate, 'user' | 'facts'>,
): Rejection | undefined {
  const match = matchEvent(rule, event, facts);
  if (!match.matches) {
    return {
      decision: 'not_matched',
      reasonCode: match.reason,
      detail: 'leaves' in match ? { leaves: match.leaves } : undefined,
    };
  }
  return user.isFollowing || !needsFriend(rule)
    ? undefined
    : { decision: 'suppressed', reasonCode: 'user_not_following' };
}

const loopOf = ({ depth, causeId }: OutboxEvent): Rejection | undefined =>
  depth < MAX_DEPTH ? undefined : { decision: 'suppressed', reasonCode: 'rule_loops', detail: { depth, causeId } };

/** The fields of a history row that come from the event. */
export function entryOf(event: Cause) {
  const { organizationId, lineOaId, userId, eventId, causeId, rootId } = event;
  return { organizationId, lineOaId, userId, eventId, causeId, rootId, triggerOn: event.topic };
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

import type { Tx } from '@dueline/db';
import {
  type ActionPlan,
  type Candidate,
  entryOf,
  type LogEntry,
  planAction,
  ruleFields,
} from '@dueline/trigger-rules';
import { missingTarget, targetsOf } from './targets.ts';
import { type Words, wordingFor } from './wording.ts';

/** A candidate of which it is known what it leads to. */
export interface Prepared extends Candidate {
  readonly plan: ActionPlan;
  /** What is said at once. */
  readonly words: Words;
}

/** Candidates, and the history of those that ended here. */
export interface Sorted<Kept> {
  readonly kept: readonly Kept[];
  readonly ended: readonly LogEntry[];
}

/**
 * What each candidate leads to. What cannot be done ends here, before it spends anything: words that cannot be sent, and what is to happen at
 * once to an audience or a menu that is gone. What is named is held.
 */
export async function prepare(tx: Tx, candidates: readonly Candidate[]): Promise<Sorted<Prepared>> {
  const planned = candidates.map((candidate) => ({ ...candidate, plan: planAction(candidate.rule) }));
  const named = planned.flatMap(({ rule, plan }) => (plan.kind === 'now' ? { ...rule, request: plan.request } : []));
  const targets = await targetsOf(tx, named);
  const kept: Prepared[] = [];
  const ended: LogEntry[] = [];
  for (const candidate of planned) {
    const { plan, user } = candidate;
    const request = plan.kind === 'now' ? plan.request : undefined;
    const missing = request && missingTarget({ lineOaId: candidate.rule.lineOaId, request }, targets);
    const wording = wordingFor(request, user);
    if (missing !== undefined) ended.push(failedEntry(candidate, { reasonCode: missing }));
    else if ('problem' in wording)
      ended.push(failedEntry(candidate, { reasonCode: 'content_invalid', errorMessage: wording.problem }));
    else kept.push({ ...candidate, words: wording });
  }
  return { kept, ended };
}

/** Of a rule that only observes nothing fails. */
function failedEntry(candidate: Candidate, why: Pick<LogEntry, 'reasonCode' | 'errorMessage'>): LogEntry {
  return historyOf(candidate, { decision: candidate.rule.mode === 'observe' ? 'observed' : 'failed', ...why });
}

/** A history row of a candidate. */
export const historyOf = (
  { event, rule }: Candidate,
  what: Pick<LogEntry, 'decision' | 'reasonCode' | 'errorMessage' | 'detail'>,
): LogEntry => ({ ...entryOf(event), ...ruleFields(rule), ...what });

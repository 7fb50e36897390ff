import { renderMessages } from '@dueline/contracts';
import type { ArchivedEvent } from '@dueline/db/changes';
import {
  type ActionPlan,
  type Decision,
  evaluateEvent,
  type LogEntry,
  planAction,
  type ReadRule,
  type ReasonCode,
  type TriggerRule,
} from '@dueline/trigger-rules';
import { isLimited, mayFireAgain, roomAt } from './limits-then.ts';
import type { Meeting } from './meetings.ts';
import type { MomentOfPerson } from './moments.ts';
import type { Account } from './rule-then.ts';
import { type Target, targetIsGone } from './targets-then.ts';
import type { Track } from './track.ts';

/** What is decided of a rule that meets an event. */
export interface Verdict {
  readonly decision: Decision;
  readonly reasonCode: ReasonCode;
  readonly detail?: unknown;
  readonly errorMessage?: string | undefined;
}

/** What becomes of a rule that meets an event, before its limits are asked. */
export type Judged =
  | { readonly kind: 'deaf' }
  | { readonly kind: 'ended'; readonly verdict: Verdict }
  | { readonly kind: 'enters'; readonly rule: TriggerRule; readonly plan: ActionPlan };

/** Judges an event by the evaluator of the decisions themselves. Pure. */
export function judge(
  read: ReadRule,
  archived: ArchivedEvent,
  { met, target }: { met: Meeting; target: Target | undefined },
): Judged {
  const { candidates, rejected, flooding } = evaluateEvent(archived.event, [read], met.known);
  const [candidate] = candidates;
  const [entry] = [...rejected, ...flooding];
  if (entry !== undefined) return { kind: 'ended', verdict: verdictOf(entry) };
  if (candidate === undefined) return { kind: 'deaf' };
  const { rule, user } = candidate;
  const plan = planAction(rule);
  if (plan.kind === 'later') return { kind: 'enters', rule, plan };
  const gone = targetIsGone(target, archived.decidedMicros);
  const rendered =
    plan.request.actionType === 'send_message' ? renderMessages(plan.request.actionConfig.messages, user) : undefined;
  const problem = rendered !== undefined && 'problem' in rendered ? rendered.problem : undefined;
  if (gone === undefined && problem === undefined) return { kind: 'enters', rule, plan };
  const decision = rule.mode === 'observe' ? 'observed' : 'failed';
  return { kind: 'ended', verdict: { decision, reasonCode: gone ?? 'content_invalid', errorMessage: problem } };
}

const verdictOf = ({ decision, reasonCode, detail, errorMessage }: LogEntry): Verdict => ({
  ...{ decision, reasonCode, errorMessage },
  ...(detail !== undefined && { detail }),
});

export const sendsNow = (plan: ActionPlan): boolean =>
  plan.kind === 'now' && plan.request.actionType === 'send_message';

/** What each limit says, in the order in which decisions ask them. */
export interface LimitsAsked {
  readonly waits: boolean;
  readonly isQuiet: boolean;
  /** Places under the caps; infinite: nothing caps it. */
  readonly room: number;
  readonly mayFire: boolean;
}

/** Asks every limit, whether or not an earlier one says no. Pure. */
export function askLimits(
  { rule, plan }: Extract<Judged, { kind: 'enters' }>,
  { account, track, moment }: { account: Account; track: Track; moment: MomentOfPerson },
): LimitsAsked {
  const isOpen = (until: number | null) => until === null || until > moment.at;
  return {
    waits: rule.reentry === 'not_while_open' && plan.kind === 'later' && track.open.some(isOpen),
    isQuiet: rule.dropsInQuietHours && sendsNow(plan) && moment.quietUntil !== null,
    room: rule.isCapped && sendsNow(plan) ? roomAt(account.caps, track.sent, moment.at) : Number.POSITIVE_INFINITY,
    mayFire: !isLimited(rule) || mayFireAgain(rule, track.lastFired, moment),
  };
}

const suppressed = (reasonCode: ReasonCode): Verdict => ({ decision: 'suppressed', reasonCode });

/** What the limits make of a rule that would fire, in the order of docs/rules.md. Pure. */
export function limit({ rule, plan }: Extract<Judged, { kind: 'enters' }>, asked: LimitsAsked): Verdict {
  if (asked.waits) return suppressed('already_pending');
  if (asked.isQuiet) return suppressed('quiet_hours');
  if (asked.room <= 0) return suppressed('frequency_cap');
  if (!asked.mayFire) return suppressed(rule.reentry === 'never' ? 'entered_before' : 'frequency');
  const would = plan.kind === 'now' ? 'fire' : 'wait';
  if (rule.mode === 'observe') return { decision: 'observed', reasonCode: 'matched', detail: { would } };
  return { decision: plan.kind === 'now' ? 'fired' : 'scheduled', reasonCode: 'matched' };
}

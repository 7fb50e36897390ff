import type { LeafResult } from '@dueline/conditions';
import { evaluateConditions } from '@dueline/conditions';
import type { ArchivedEvent } from '@dueline/db/changes';
import { listensTo, MAX_DEPTH, matchEvent, needsFriend, type TriggerRule } from '@dueline/trigger-rules';
import { askLimits, type Judged, type LimitsAsked, limit, type Verdict } from './judge.ts';
import type { Meeting } from './meetings.ts';
import type { MomentOfPerson } from './moments.ts';
import type { Account } from './rule-then.ts';
import { capsSay, frequencySays, latenessStep, modeStep, quietSays, type Step } from './step.ts';
import type { Track } from './track.ts';

/** What is known of one event and one rule. */
export interface Known {
  readonly account: Account;
  readonly rule: TriggerRule;
  readonly archived: ArchivedEvent;
  readonly meeting: Meeting;
  readonly judged: Judged;
  readonly moment: MomentOfPerson;
  readonly track: Track;
  /** Decisions that go back to the same event, as they are counted now. */
  readonly rootDecisions: number;
}

/** What the rule makes of the event, by evaluator and limits. Undefined: it does not listen to it. Pure. */
export function computeVerdict({ account, judged, track, moment }: Known): Verdict | undefined {
  if (judged.kind === 'deaf') return undefined;
  return judged.kind === 'ended' ? judged.verdict : limit(judged, askLimits(judged, { account, track, moment }));
}

/** Each question of the conditions and what it found, whether or not they hold. Pure. */
export function leavesOf({ rule, meeting }: Known): readonly LeafResult[] {
  const { conditions } = rule.sourceConfig;
  if (conditions === undefined || meeting.known === undefined) return [];
  return evaluateConditions(conditions.when, meeting.known.factsFor(rule)).leaves;
}

/** Everything that is asked, also behind the first no. Pure. */
export function stepsOf(known: Known): Step[] {
  return [...eventSteps(known), ...limitSteps(known)];
}

function eventSteps(known: Known): Step[] {
  const { rule, archived, meeting, judged, rootDecisions } = known;
  const { event } = archived;
  const isHeard = listensTo(rule, event);
  const user = meeting.known?.user;
  const match = isHeard && meeting.known ? matchEvent(rule, event, meeting.known.factsFor(rule)) : undefined;
  const isValue = match && (match.matches || match.reason !== 'value_not_matched');
  const leaves = leavesOf(known);
  const met = leaves.filter(({ holds }) => holds).length;
  const follows = user && (user.isFollowing || !needsFriend(rule));
  const wrong =
    judged.kind === 'ended' && ['failed', 'observed'].includes(judged.verdict.decision) ? judged.verdict : undefined;
  return [
    {
      asks: 'source',
      passes: isHeard,
      says: `${event.topic}: the rule ${isHeard ? 'listens' : 'does not listen'} to it`,
    },
    {
      asks: 'values',
      passes: isValue ?? null,
      says: isValue === false ? 'not the values that it names' : 'the values that it names, if any',
    },
    {
      asks: 'conditions',
      passes: match === undefined || isValue === false ? null : match.matches,
      says: leaves.length === 0 ? 'it has none' : `${met} of ${leaves.length} hold`,
    },
    {
      asks: 'person',
      passes: follows ?? false,
      says:
        user === undefined ? 'unknown then' : user.isFollowing ? 'followed the account' : 'did not follow the account',
    },
    {
      asks: 'loops',
      passes: event.depth < MAX_DEPTH,
      says: `${event.depth} of ${MAX_DEPTH} changes deep, ${rootDecisions} decisions go back to the same event`,
    },
    {
      asks: 'can_be_done',
      passes: judged.kind === 'deaf' ? null : wrong === undefined,
      says: wrong?.errorMessage ?? wrong?.reasonCode ?? 'what it names is there, its words can be sent',
    },
  ];
}

function limitSteps({ account, rule, judged, track, moment }: Known): Step[] {
  const asked: LimitsAsked | undefined =
    judged.kind === 'enters' ? askLimits(judged, { account, track, moment }) : undefined;
  return [
    {
      asks: 'reentry',
      passes: asked ? !asked.waits : null,
      says: `${rule.reentry}; ${track.open.length === 0 ? 'nothing waited under it' : 'something waited under it'}`,
    },
    { asks: 'quiet_hours', passes: asked ? !asked.isQuiet : null, says: quietSays(account, moment.quietUntil) },
    { asks: 'caps', passes: asked ? asked.room > 0 : null, says: capsSay(account, { rule, room: asked?.room }) },
    { asks: 'frequency', passes: asked ? asked.mayFire : null, says: frequencySays(rule, track) },
    latenessStep(rule.actionConfig.delay),
    modeStep(rule),
  ];
}

import type { Evaluation, Facts } from '@dueline/conditions';
import { renderMessages, renderWebhookData } from '@dueline/contracts';
import type { LineUser } from '@dueline/recipients';
import { conditionsStillHold, needsFriend, requirementsOf } from '@dueline/trigger-rules';
import type { Verdict } from '../judge.ts';
import { targetIsGone } from '../targets-then.ts';
import type { PeopleOfPage } from './people.ts';
import type { TimedRule } from './timed-rule.ts';
import type { DueTime, Times } from './times.ts';

/** What was read of a page of people. */
export interface Page {
  readonly people: PeopleOfPage;
  readonly times: Times;
}

/** Whom a cycle leaves out without a line in the history. */
type NotMet = 'user_unknown' | 'user_not_following' | 'not_on_day';

/** What a cycle makes of a person before the limits of the rule are asked. `due` null: nobody can say when its wait ends. */
export type Entry =
  | { readonly kind: 'not_met'; readonly because: NotMet }
  | { readonly kind: 'ended'; readonly verdict: Verdict }
  | { readonly kind: 'enters'; readonly verdict: Verdict; readonly due: DueTime | null; readonly user: LineUser };

/** Who is asked about, and which cycle of the rule. */
interface Meeting {
  readonly userId: string;
  readonly n: number;
}

/** What reading a cycle makes of a person, in the order in which trigger-worker asks. Pure. */
export function enterCycle(of: TimedRule, { people, times }: Page, { userId, n }: Meeting): Entry {
  const at = of.cycles[n] ?? 0;
  const then = people.asOf(userId, at);
  const moment = then && times.moment(then.user, n);
  if (then === undefined || moment === undefined) return { kind: 'not_met', because: 'user_unknown' };
  const { user } = then;
  if (!user.isFollowing) return { kind: 'not_met', because: 'user_not_following' };
  if (!times.isOnDay(user, n)) return { kind: 'not_met', because: 'not_on_day' };
  const matched: Verdict = { decision: 'scheduled', reasonCode: 'matched' };
  const { delay } = of;
  if (delay === undefined)
    return { kind: 'enters', verdict: matched, due: { at, quietUntil: moment.quietUntil }, user };
  if (delay.mode === 'waitForTracking') return { kind: 'enters', verdict: matched, due: null, user };
  if (delay.mode === 'normal') {
    const due = { at: moment.dueAt ?? at, quietUntil: moment.dueQuietUntil };
    return { kind: 'enters', verdict: matched, due, user };
  }
  const due = times.date(user);
  if (due === null) return { kind: 'ended', verdict: { decision: 'suppressed', reasonCode: 'no_date' } };
  if (due.at > at) return { kind: 'enters', verdict: matched, due, user }; // read after its time, however little
  const past = { fire: 'scheduled', skip: 'cancelled', fail: 'failed' } as const;
  const verdict: Verdict = { decision: past[delay.whenPast], reasonCode: 'date_past' };
  return { kind: 'enters', verdict, due: { at, quietUntil: moment.quietUntil }, user };
}

/** What is asked when an action is decided; what comes behind the first no is asked as well. */
export interface DueAsked {
  readonly user: LineUser | undefined;
  readonly isFriend: boolean;
  /** Null: the rule has no conditions. */
  readonly conditions: Evaluation | null;
  readonly gone: 'audience_deleted' | 'rich_menu_deleted' | undefined;
  /** Quiet hours concern it. */
  readonly isQuiet: boolean;
  readonly problem: string | undefined;
  /** A value that was asked about was too long for the history. */
  readonly isUncertain: boolean;
}

/** Asks everything but the caps. Pure. */
export function askWhenDue(
  of: TimedRule,
  { people }: Pick<Page, 'people'>,
  { userId, due }: { userId: string; due: DueTime },
): DueAsked {
  const then = people.asOf(userId, due.at);
  const user = then?.user;
  const conditions =
    of.recheck === null || user === undefined
      ? null
      : conditionsStillHold(of.recheck.read, factsOf(of, user, { people, at: due.at }));
  return {
    user,
    isFriend: user !== undefined && (user.isFollowing || !needsFriend(of.request)),
    conditions,
    gone: targetIsGone(of.target, due.at),
    isQuiet: due.quietUntil !== null && of.request.actionType === 'send_message' && of.account.quietPolicy !== 'ignore',
    problem: user && problemOfWords(of, user),
    isUncertain: then !== undefined && [...requirementsOf(of.rule).attributes].some((name) => then.unknown.has(name)),
  };
}

function factsOf(
  { account, rule }: TimedRule,
  user: LineUser,
  { people, at }: Pick<Page, 'people'> & { at: number },
): Omit<Facts, 'event'> {
  const now = requirementsOf(rule).clock ? new Date(at / 1_000).toISOString() : '1970-01-01T00:00:00Z';
  return {
    attributes: user.attributes,
    audiences: people.audiencesOf(user.userId),
    clock: { now, accountZone: account.timezone, userZone: user.timezone },
  };
}

function problemOfWords({ request }: TimedRule, user: LineUser): string | undefined {
  if (request.actionType === 'send_message') return problemOf(renderMessages(request.actionConfig.messages, user));
  if (request.actionType !== 'call_webhook') return undefined;
  return problemOf(renderWebhookData(request.actionConfig.data ?? {}, user));
}

const problemOf = (rendered: object): string | undefined =>
  'problem' in rendered && typeof rendered.problem === 'string' ? rendered.problem : undefined;

/** What becomes of an action that is due; `later`: it is decided anew when the quiet hours are over. Caps are not asked yet. Pure. */
export function decideDue(
  { account }: TimedRule,
  { user, isFriend, conditions, gone, isQuiet, problem }: DueAsked,
): Verdict | 'later' {
  const cancelled = (reasonCode: Verdict['reasonCode']): Verdict => ({ decision: 'cancelled', reasonCode });
  if (user === undefined) return cancelled('user_unknown');
  if (!isFriend) return cancelled('user_not_following');
  if (conditions !== null && !conditions.holds) return cancelled('conditions_no_longer_hold');
  if (gone !== undefined) return { decision: 'failed', reasonCode: gone };
  if (isQuiet) return account.quietPolicy === 'drop' ? cancelled('quiet_hours') : 'later';
  if (problem !== undefined) return { decision: 'failed', reasonCode: 'content_invalid', errorMessage: problem };
  return { decision: 'fired', reasonCode: 'due' };
}

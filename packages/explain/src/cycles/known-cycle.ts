import type { Tx } from '@dueline/db';
import type { ScheduledRule } from '@dueline/trigger-rules';
import type { Verdict } from '../judge.ts';
import { isLimited, mayFireAgain } from '../limits-then.ts';
import type { MomentOfPerson } from '../moments.ts';
import type { PersonThen } from '../people-then.ts';
import type { Account } from '../rule-then.ts';
import { countedOfAction, loadTracks, type Track } from '../track.ts';
import { askWhenDue, type DueAsked, decideDue, type Entry, enterCycle, type Page } from './judge.ts';
import { isMeant, loadPeople } from './people.ts';
import { limitedBy, withinCaps } from './play-person.ts';
import { loadTimedRule, type TimedRule } from './timed-rule.ts';
import { createTimes, type DueTime } from './times.ts';

/** What is known of one person in one cycle. */
export interface KnownCycle {
  readonly of: TimedRule;
  /** As they were when it began; undefined: nobody knew them. */
  readonly person: PersonThen | undefined;
  readonly moment: MomentOfPerson | undefined;
  readonly isMeant: boolean;
  readonly entry: Entry;
  readonly track: Track;
  readonly mayFire: boolean;
  /** What is asked when the action is due; undefined: it makes none, or nobody can say when that is. */
  readonly due: KnownDue | undefined;
  /** What becomes of the person; undefined: the cycle does not meet them. */
  readonly verdict: Verdict | undefined;
}

interface KnownDue {
  readonly time: DueTime;
  readonly asked: DueAsked;
  /** When the messages count for the caps that were decided before it; none of them later than its own. */
  readonly sent: readonly number[];
  /** When its own counts, in microseconds. */
  readonly countedAt: number;
  readonly verdict: Verdict;
  /** Until when it waited for the end of quiet hours, in microseconds; undefined: it did not. */
  readonly quietUntil: number | undefined;
}

/** How an action of a cycle was decided at last. */
export interface DecidedAction {
  readonly actionId: string;
  /** In microseconds. */
  readonly at: number;
}

/**
 * Works out what a cycle that begins at an instant makes of a person.
 *
 * @param asked.decided When the action was decided, if it was: a moment after it was due, perhaps with others of the same instant, and caps go by that.
 */
export async function loadKnownCycle(
  tx: Tx,
  account: Account,
  {
    rule,
    userId,
    at,
    decided,
  }: { rule: ScheduledRule; userId: string; at: number; decided?: DecidedAction | undefined },
): Promise<KnownCycle> {
  const of = await loadTimedRule(tx, account, { rule, cycles: [at] });
  const people = await loadPeople(tx, of, { userIds: [userId], sinceMicros: at });
  const person = people.asOf(userId, at);
  const page = { people, times: await createTimes(of)(tx, person === undefined ? [] : [person.user]) };
  const moment = person && page.times.moment(person.user, 0);
  const entry = enterCycle(of, page, { userId, n: 0 });
  const track = (await loadTracks(tx, account, { rule, userIds: [userId], before: at, until: at }))(userId);
  const mayFire = moment === undefined || !isLimited(rule) || mayFireAgain(rule, track.lastFired, moment);
  const isOfAudience = await isMeant(tx, of, userId);
  const acts = entry.kind === 'enters' && entry.verdict.decision === 'scheduled' && entry.due !== null;
  const due =
    acts && entry.due !== null ? await loadDue(tx, { of, page }, { userId, time: entry.due, decided }) : undefined;
  const known = { of, person, moment, isMeant: isOfAudience, entry, track, mayFire, due };
  return { ...known, verdict: verdictOf(known) };
}

async function loadDue(
  tx: Tx,
  { of, page }: { of: TimedRule; page: Page },
  { userId, time, decided }: { userId: string; time: DueTime; decided: DecidedAction | undefined },
): Promise<KnownDue> {
  const first = askWhenDue(of, page, { userId, due: time });
  const isLater = decideDue(of, first) === 'later';
  const decidedAt = isLater ? { at: time.quietUntil ?? time.at, quietUntil: null } : time;
  const asked = isLater ? askWhenDue(of, page, { userId, due: decidedAt }) : first;
  const verdict = decideDue(of, asked);
  if (verdict === 'later') throw new Error('an action is put off once by quiet hours');
  const until = decided?.at ?? decidedAt.at;
  const countedAt = decided === undefined ? decidedAt.at : await countedOfAction(tx, of.account, decided);
  const before = { before: until, until, ofAction: decided?.actionId };
  const track = (await loadTracks(tx, of.account, { rule: of.rule, userIds: [userId], ...before }))(userId);
  const sent = track.sent.map((at) => Math.min(at, countedAt));
  const within = withinCaps(of, { verdict, at: countedAt, sent });
  return { time, asked, sent, countedAt, verdict: within.verdict, quietUntil: isLater ? decidedAt.at : undefined };
}

function verdictOf({ of, isMeant, entry, mayFire, due }: Omit<KnownCycle, 'verdict'>): Verdict | undefined {
  if (!isMeant || entry.kind === 'not_met') return undefined;
  if (entry.kind === 'ended') return entry.verdict;
  if (!mayFire) return limitedBy(of);
  if (of.rule.mode === 'observe') return { decision: 'observed', reasonCode: 'matched' };
  return due?.verdict ?? entry.verdict;
}

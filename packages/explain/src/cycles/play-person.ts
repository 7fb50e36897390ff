import type { Verdict } from '../judge.ts';
import { isLimited, mayFireAgain, roomAt } from '../limits-then.ts';
import type { Message } from '../playback.ts';
import type { Track } from '../track.ts';
import { askWhenDue, decideDue, enterCycle, type Page } from './judge.ts';
import type { TimedRule } from './timed-rule.ts';
import type { DueTime } from './times.ts';

/** What became of a person in one cycle. */
export interface Fate {
  /** The place of the cycle. */
  readonly n: number;
  readonly verdict: Verdict;
  /** Undefined: it was no message, or none was to be sent. */
  readonly message?: { readonly became: Message; readonly at: number } | undefined;
  readonly isUncertain: boolean;
}

interface Waiting {
  readonly n: number;
  readonly due: DueTime;
  readonly isShifted: boolean;
}

/**
 * Lets one person meet the cycles of a rule after each other, and decides their actions in the order in which they are due: slots of the rule are
 * taken as cycles are read, places under the caps as messages are decided, so that neither hangs on the other. Pure.
 */
export function playPerson(of: TimedRule, page: Page, { userId, track }: { userId: string; track: Track }): Fate[] {
  const fates: Fate[] = [];
  const waiting: Waiting[] = [];
  let last = track.lastFired;
  for (const n of of.cycles.keys()) {
    const entry = enterCycle(of, page, { userId, n });
    if (entry.kind === 'not_met') continue;
    const moment = entry.kind === 'ended' ? undefined : page.times.moment(entry.user, n);
    if (entry.kind === 'ended' || moment === undefined) {
      if (entry.kind === 'ended') fates.push({ n, verdict: entry.verdict, isUncertain: false });
      continue;
    }
    if (isLimited(of.rule) && !mayFireAgain(of.rule, last, moment)) {
      fates.push({ n, verdict: limitedBy(of), isUncertain: false });
      continue;
    }
    last = moment;
    const { verdict, due } = entry;
    if (verdict.decision === 'scheduled' && due !== null) waiting.push({ n, due, isShifted: false });
    else fates.push({ n, verdict, message: perhapsOf(of, { verdict, at: moment.at }), isUncertain: false });
  }
  return waiting.length === 0 ? fates : [...fates, ...settle(of, page, { userId, track, waiting })];
}

/** Why a rule that may not fire again does not. */
export const limitedBy = ({ rule }: TimedRule): Verdict => ({
  decision: 'suppressed',
  reasonCode: rule.reentry === 'never' ? 'entered_before' : 'frequency',
});

const perhapsOf = ({ request }: TimedRule, { verdict, at }: { verdict: Verdict; at: number }): Fate['message'] =>
  verdict.decision === 'scheduled' && request.actionType === 'send_message' ? { became: 'perhaps', at } : undefined;

interface Settling {
  readonly userId: string;
  readonly track: Track;
  readonly waiting: readonly Waiting[];
}

function settle(of: TimedRule, page: Page, { userId, track, waiting }: Settling): Fate[] {
  const fates: Fate[] = [];
  const open = waiting.toSorted(byDue);
  let sent = track.sent;
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const { n, due, isShifted } = next;
    const asked = askWhenDue(of, page, { userId, due });
    const verdict = decideDue(of, asked);
    if (verdict === 'later') {
      open.push({ n, due: { at: due.quietUntil ?? due.at, quietUntil: null }, isShifted: true });
      open.sort(byDue);
      continue;
    }
    const decided = withinCaps(of, { verdict, at: due.at, sent });
    if (decided.sends && of.rule.isCapped) sent = [...sent, due.at];
    const became = becameOf(decided.verdict, isShifted);
    const message =
      of.request.actionType !== 'send_message' || became === undefined ? undefined : { became, at: due.at };
    fates.push({ n, verdict: decided.verdict, message, isUncertain: asked.isUncertain });
  }
  return fates;
}

const byDue = (a: Waiting, b: Waiting): number => a.due.at - b.due.at;

/** What the caps of the account make of an action that would be done. Pure. */
export function withinCaps(
  { account, rule, request }: TimedRule,
  { verdict, at, sent }: { verdict: Verdict; at: number; sent: readonly number[] },
): { readonly verdict: Verdict; readonly sends: boolean } {
  const sends = verdict.decision === 'fired' && request.actionType === 'send_message';
  if (!sends || !rule.isCapped || roomAt(account.caps, sent, at) > 0) return { verdict, sends };
  return { verdict: { decision: 'cancelled', reasonCode: 'frequency_cap' }, sends: false };
}

function becameOf({ decision, reasonCode }: Verdict, isShifted: boolean): Message | undefined {
  if (decision === 'fired') return isShifted ? 'shifted' : 'sent';
  if (reasonCode === 'frequency_cap') return 'capped';
  return reasonCode === 'quiet_hours' ? 'dropped' : undefined;
}

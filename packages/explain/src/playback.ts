import type { TriggerRule } from '@dueline/trigger-rules';
import { askLimits, type Judged, limit, sendsNow, type Verdict } from './judge.ts';
import { roomAt } from './limits-then.ts';
import type { MomentOfPerson } from './moments.ts';
import type { Account } from './rule-then.ts';
import type { Track } from './track.ts';

/** A message of a rule that waits for its time, as the past is played again. */
interface Waiting {
  readonly dueAt: number;
  readonly isQuiet: boolean;
  readonly told: (became: Message) => void;
}

/** What becomes of a message: `perhaps`: nobody can say from here whether what it waits for comes. */
export type Message = 'sent' | 'shifted' | 'capped' | 'dropped' | 'perhaps';

/** One rule that meets the events of one person after each other. */
export interface Playback {
  /** What the rule decides of an event, and whom it tells what became of its message. */
  play(judged: Extract<Judged, { kind: 'enters' }>, moment: MomentOfPerson, told: (became: Message) => void): Verdict;
  /** Lets everything come due that still waits. */
  finish(): void;
}

export function startPlayback({
  account,
  rule,
  track: before,
}: {
  account: Account;
  rule: TriggerRule;
  track: Track;
}): Playback {
  const longest = Math.max(0, ...account.caps.map(({ windowSeconds }) => windowSeconds)) * 1_000_000;
  const track = { ...before, sent: [...before.sent] };
  let waiting: Waiting[] = [];
  const send = (at: number) => {
    if (!rule.isCapped) return true;
    if (roomAt(account.caps, track.sent, at) <= 0) return false;
    track.sent = [...track.sent.filter((sent) => sent > at - longest), at];
    return true;
  };
  const settle = (until: number) => {
    const due = waiting.filter(({ dueAt }) => dueAt <= until).toSorted((a, b) => a.dueAt - b.dueAt);
    waiting = waiting.filter(({ dueAt }) => dueAt > until);
    for (const { dueAt, isQuiet, told } of due) {
      if (isQuiet && rule.dropsInQuietHours) told('dropped');
      else if (!send(dueAt)) told('capped');
      else told(isQuiet && account.quietPolicy === 'shift' ? 'shifted' : 'sent');
    }
  };
  return {
    play: (judged, moment, told) => {
      settle(moment.at);
      const verdict = limit(judged, askLimits(judged, { account, track, moment }));
      if (verdict.decision !== 'fired' && verdict.decision !== 'scheduled' && verdict.reasonCode !== 'matched')
        return verdict;
      track.lastFired = moment;
      if (sendsNow(judged.plan)) {
        if (rule.mode === 'live') send(moment.at);
        told(moment.quietUntil !== null && account.quietPolicy === 'shift' ? 'shifted' : 'sent');
      } else if (judged.plan.kind === 'later') {
        const { dueAt } = moment;
        track.open = [...track.open.filter((until) => until === null || until > moment.at), dueAt];
        const isSure = judged.plan.delay.mode === 'normal' && dueAt !== null;
        if (judged.plan.request.actionType !== 'send_message') return verdict;
        if (isSure) waiting.push({ dueAt, isQuiet: moment.dueQuietUntil !== null, told });
        else told('perhaps');
      }
      return verdict;
    },
    finish: () => settle(Number.POSITIVE_INFINITY),
  };
}

import type { Delay } from '@dueline/contracts';
import type { TriggerRule } from '@dueline/trigger-rules';
import type { Account } from './rule-then.ts';
import type { Track } from './track.ts';

/** One thing that is asked before a rule fires, in the order of docs/rules.md. */
export interface Step {
  readonly asks:
    | 'source'
    | 'audience'
    | 'date'
    | 'values'
    | 'conditions'
    | 'person'
    | 'loops'
    | 'can_be_done'
    | 'reentry'
    | 'quiet_hours'
    | 'caps'
    | 'frequency'
    | 'lateness'
    | 'mode';
  /** Whether it lets the rule fire; null: it could not be asked. */
  readonly passes: boolean | null;
  readonly says: string;
}

/** An instant for people. Pure. */
export const toText = (micros: number): string =>
  Temporal.Instant.fromEpochMilliseconds(Math.floor(micros / 1_000)).toString();

/** Pure. */
export function quietSays({ quietPolicy }: Account, quietUntil: number | null): string {
  if (quietPolicy === null) return 'the account has none';
  return quietUntil === null ? 'it was not quiet' : `quiet until ${toText(quietUntil)}, policy ${quietPolicy}`;
}

/** Pure. */
export function capsSay({ caps }: Account, { rule, room }: { rule: TriggerRule; room: number | undefined }): string {
  if (!rule.isCapped) return caps.length === 0 ? 'the account has none' : 'the rule is exempt';
  return room === undefined || room === Number.POSITIVE_INFINITY
    ? 'they count when a message is sent'
    : `room for ${Math.max(0, room)} more`;
}

/** Pure. */
export function frequencySays({ frequency, cooldownSeconds }: TriggerRule, { lastFired }: Track): string {
  const apart = cooldownSeconds > 0 ? `, ${cooldownSeconds} s apart` : '';
  const last =
    lastFired === undefined ? 'it had not fired for them before' : `it last fired for them at ${toText(lastFired.at)}`;
  return `${frequency}${apart}; ${last}`;
}

/** How late it may be. Pure. */
export const latenessStep = (delay: Delay | undefined): Step => ({
  asks: 'lateness',
  passes: delay === undefined ? true : null,
  says:
    delay === undefined
      ? 'at once'
      : delay.maxLatenessSeconds === undefined
        ? 'later, however late'
        : `later, at most ${delay.maxLatenessSeconds} s late`,
});

/** Whether it does anything. Pure. */
export const modeStep = ({ mode }: TriggerRule): Step => ({
  asks: 'mode',
  passes: mode === 'live',
  says: mode === 'live' ? 'live' : 'it observes: what it would do is written down, and not done',
});

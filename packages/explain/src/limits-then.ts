import { type FrequencyCap, roomAt as roomAfter, type TriggerRule } from '@dueline/trigger-rules';
import { SECOND } from './instants.ts';

/** An instant as limits look at it: in microseconds of the epoch, and the day and the week that it falls into by the account's clocks. */
export interface Moment {
  readonly at: number;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** The Monday of its week. */
  readonly week: string;
}

/**
 * Whether a rule that last fired for a person at `last` may fire at `now`: what the statement of the gate asks of its row, of rows that there
 * are no more. Pure; a test holds the two together.
 */
export function mayFireAgain(
  { frequency, cooldownSeconds, reentry }: Pick<TriggerRule, 'frequency' | 'cooldownSeconds' | 'reentry'>,
  last: Moment | undefined,
  now: Moment,
): boolean {
  if (last === undefined) return true;
  if (reentry === 'never' || last.at + cooldownSeconds * SECOND > now.at) return false;
  switch (frequency) {
    case 'every_time':
      return true;
    case 'once':
      return false;
    case 'once_per_hour':
      return last.at + 3_600 * SECOND <= now.at;
    case 'once_per_day':
      return last.day < now.day;
    case 'once_per_week':
      return last.week < now.week;
  }
}

/** How many more messages caps leave room for at an instant, after those of these that count until then. Pure. */
export const roomAt = (caps: readonly FrequencyCap[], sent: readonly number[], at: number): number =>
  roomAfter(
    caps,
    sent.filter((before) => before <= at),
    at,
  );

/** Whether a rule limits at all how often it fires for a person. */
export const isLimited = ({ frequency, cooldownSeconds, reentry }: TriggerRule): boolean =>
  frequency !== 'every_time' || cooldownSeconds > 0 || reentry === 'never';

import type { AttemptResult } from '@dueline/deliveries';

/** What becomes of a refused request: whose fault it is, or how long it is held because nobody can tell. */
export type RefusalVerdict = Pick<AttemptResult, 'refusedFor' | 'partsWaitMs' | 'holdMs'>;

/** What is known of a refusal that names nobody, of messages that LINE finds nothing wrong with. */
export interface Unexplained {
  /** Whom the request is for; of a broadcast 1, for nothing can be split. */
  readonly people: number;
  /** Whether it is a part of a request that was refused before. */
  readonly isPart: boolean;
  /** How often it, and the whole that it is a part of, were refused so, this time counted. At least a minute lies between any two. */
  readonly times: number;
  /** How often it itself was. */
  readonly ownTimes: number;
  /** Other sends of the account that LINE accepted since the time before. */
  readonly accepted: number;
  /** Other sends of the account that LINE refused so within the last hour, whatever became of them. */
  readonly others: number;
}

const MINUTE_MS = 60_000;
/** A person is blamed after so many refusals. */
const TIMES_OF_ONE = 3;
/** A request to several is split after so many: that fails nobody. */
const TIMES_OF_SEVERAL = 2;
/** For each other refusal so many more accepted ones: an outage that meets every other request blames nobody. */
const ACCEPTED_FOR_EACH = 4;
/** Parts of so few are of one person each, or nearly. */
const FEW = 3;
const LONGEST_DOUBLINGS = 5;

/**
 * Whether a refusal that names nobody is blamed on its recipients. Pure.
 *
 * LINE has refused everybody's requests for a while before. So nobody is blamed at one time, however many halves of a request are refused then:
 * a part of one person is asked for a minute after the rest. And nobody is blamed unless LINE accepted others in between.
 */
export function blame({ people, isPart, times, ownTimes, accepted, others }: Unexplained): RefusalVerdict {
  if (people > 1) {
    if (!isPart && times < TIMES_OF_SEVERAL) return { holdMs: MINUTE_MS };
    return { refusedFor: 'recipients', ...(people <= FEW && { partsWaitMs: MINUTE_MS }) };
  }
  if (times >= TIMES_OF_ONE && accepted >= 1 + ACCEPTED_FOR_EACH * others) return { refusedFor: 'recipients' };
  return askAgain(ownTimes);
}

/** The minute, and then twice as long each time, up to half an hour. */
const askAgain = (times: number): RefusalVerdict => ({
  holdMs: MINUTE_MS * 2 ** Math.min(times - 1, LONGEST_DOUBLINGS),
});

/** Content that LINE refuses without a reason, while it takes other content, is to blame after as many times as a person. */
export const blameContent = (times: number): RefusalVerdict =>
  times >= TIMES_OF_ONE ? { refusedFor: 'content' } : askAgain(times);

import { MAX_RECIPIENTS_PER_CHUNK } from '@dueline/contracts';

/** Requests a second to one channel that we allow ourselves: 70 % of what LINE documents (2,000 pushes, 200 multicasts). */
export const CEILINGS = { push: 1_400, multicast: 140 } as const;

/**
 * Seconds until the n-th chunk that waits begins (from 0): one behind the other, as fast as LINE allows or as the campaign itself does
 * (`maxPerMinute` people; null: as fast as LINE), so that what stands in the queue is never more than a second of any campaign, and no other
 * account's chunk stands behind all of it. Those of the first second begin at once.
 */
export function startsInSeconds(n: number, maxPerMinute: number | null): number {
  const byLine = Math.max(0, n / CEILINGS.multicast - 1);
  const byPace = maxPerMinute === null ? 0 : (n * MAX_RECIPIENTS_PER_CHUNK * 60) / maxPerMinute;
  return Math.max(byLine, byPace);
}

import { MAX_RECIPIENTS_PER_CHUNK } from '@dueline/contracts';
import { CEILINGS } from './ceilings.ts';

/**
 * Seconds after the freeze at which a chunk begins: one behind the other, as fast as LINE allows or as the campaign itself does, so that what
 * stands in the queue is never more than a second of any campaign, and no other account's chunk stands behind all of it. Those of the first second
 * begin at once.
 */
export function startsInSeconds(chunkNo: number, maxPerMinute: number | null): number {
  const byLine = Math.max(0, chunkNo / CEILINGS.multicast - 1);
  const byPace = maxPerMinute === null ? 0 : (chunkNo * MAX_RECIPIENTS_PER_CHUNK * 60) / maxPerMinute;
  return Math.max(byLine, byPace);
}

/**
 * Exponential back-off with full jitter, in milliseconds: a uniform pick from [0, min(capMs, baseMs · 2^attempt)).
 *
 * @param attempt Failures so far, 0 for the first wait.
 * @param random Source of [0, 1), an argument so that tests and simulations can fix it.
 */
export function fullJitterMs(
  attempt: number,
  { baseMs, capMs, random = Math.random }: { baseMs: number; capMs: number; random?: () => number },
): number {
  return Math.floor(random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30)));
}

/** @throws Error for an empty list: a figure that nothing was measured for is a mistake, not a zero. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  const value = sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)];
  if (value === undefined) throw new Error('nothing was measured');
  return value;
}

/** The middle one; of an even number the mean of both. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const high = sorted[sorted.length >> 1];
  const low = sorted[(sorted.length - 1) >> 1];
  if (low === undefined || high === undefined) throw new Error('nothing was measured');
  return (low + high) / 2;
}

/** How late things were, in milliseconds; `early`: how many came before their time. */
export const lateness = (milliseconds: readonly number[]) => ({
  p50: percentile(milliseconds, 50),
  p95: percentile(milliseconds, 95),
  p99: percentile(milliseconds, 99),
  max: percentile(milliseconds, 100),
  early: milliseconds.filter((ms) => ms < 0).length,
});

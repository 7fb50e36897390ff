import type { RequestRow } from '@dueline/line-simulator';

/** How many requests met each fault, by its number. */
export async function countFaults(
  requests: Iterable<RequestRow> | AsyncIterable<RequestRow>,
): Promise<Record<string, number>> {
  const counts = new Map<string, number>();
  for await (const { faultId } of requests) {
    const [fault] = faultId?.split('.') ?? [];
    if (fault !== undefined) counts.set(fault, (counts.get(fault) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].toSorted(([a], [b]) => a.localeCompare(b)));
}

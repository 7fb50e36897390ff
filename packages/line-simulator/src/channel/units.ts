import { dayOf, monthOf } from './japan-time.ts';

/** Names that sends of one channel are counted under: a thousand a month; what comes later is sent without its name. */
export interface Units {
  count(name: string, delivered: number, atMs: number): void;
  /** Names used in the month of an instant, in order of first use. */
  ofMonth(atMs: number): string[];
  /** How many were reached under the name, first and last day included. */
  delivered(name: string, from: string, to: string): number;
}

const MAX_NAMES = 1_000;

export function createUnits(): Units {
  const byMonth = new Map<string, Set<string>>();
  const byNameAndDay = new Map<string, Map<string, number>>();
  return {
    count(name, delivered, atMs) {
      const month = monthOf(atMs);
      const names = byMonth.get(month) ?? new Set();
      byMonth.set(month, names);
      if (!names.has(name) && names.size >= MAX_NAMES) return;
      names.add(name);
      const days = byNameAndDay.get(name) ?? new Map<string, number>();
      byNameAndDay.set(name, days);
      const day = dayOf(atMs);
      days.set(day, (days.get(day) ?? 0) + delivered);
    },
    ofMonth: (atMs) => [...(byMonth.get(monthOf(atMs)) ?? [])],
    delivered(name, from, to) {
      let sum = 0;
      for (const [day, count] of byNameAndDay.get(name) ?? []) if (day >= from && day <= to) sum += count;
      return sum;
    },
  };
}

import { dayNumber, dayNumberOf } from './japan-time.ts';

export const COUNTED_SENDS = ['reply', 'push', 'multicast', 'broadcast'] as const;
export type CountedSend = (typeof COUNTED_SENDS)[number];

/** How many were reached through each endpoint on each day of UTC+9. */
export interface SentCounts {
  add(kind: CountedSend, count: number, atMs: number): void;
  /** @param day `yyyymmdd` */
  on(day: string, kind: CountedSend): number;
}

export function createSentCounts(): SentCounts {
  const byDay = new Map<number, Record<CountedSend, number>>();
  return {
    add(kind, count, atMs) {
      const day = dayNumberOf(atMs);
      let counts = byDay.get(day);
      if (counts === undefined) {
        counts = { reply: 0, push: 0, multicast: 0, broadcast: 0 };
        byDay.set(day, counts);
      }
      counts[kind] += count;
    },
    on: (day, kind) => byDay.get(dayNumber(day))?.[kind] ?? 0,
  };
}

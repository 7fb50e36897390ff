/** With more refused ones beside it than that would outweigh, nobody is blamed anyway. */
const KEPT = 200;

/** What LINE accepted of each account in the view of this process, which is enough to know that it serves the account. */
export interface AcceptedLately {
  note(lineOaId: string): void;
  /** How many since a moment of the clock; at most two hundred. */
  since(lineOaId: string, sinceMs: number): number;
}

/** @param clock Milliseconds of a clock that only moves forward. */
export function createAcceptedLately(clock: () => number = () => performance.now()): AcceptedLately {
  const times = new Map<string, number[]>();
  return {
    note(lineOaId) {
      const of = times.get(lineOaId) ?? [];
      of.push(clock());
      if (of.length > KEPT) of.shift();
      times.set(lineOaId, of);
    },
    since: (lineOaId, sinceMs) => (times.get(lineOaId) ?? []).filter((at) => at >= sinceMs).length,
  };
}

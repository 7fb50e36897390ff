import type { LogEntry } from './log.ts';

/** One row of trigger_log that counts evaluations which a rule did not match, in place of a row for each. */
export interface CountedEntry extends Omit<LogEntry, 'userId' | 'eventId' | 'rootId' | 'causeId' | 'detail'> {
  readonly userId: null;
  readonly eventId: null;
  readonly causeId: null;
  readonly rootId: null;
  readonly decision: 'not_matched';
  /** More than one. */
  readonly evaluations: number;
  /** Up to five of them, as they would have been written down. */
  readonly detail: {
    readonly samples: readonly {
      readonly userId: string;
      readonly eventId: string | null;
      readonly detail?: unknown;
    }[];
  };
}

/** Samples that are kept of those counted. */
const SAMPLES = 5;

/**
 * History of a flood: of what one transaction decided, everything that a rule (of one version) did not match for one reason is one row
 * with how often. What stands alone stays as it is, and so does everything that was not `not_matched`. Pure.
 */
export function countUnmatched(entries: readonly LogEntry[]): (LogEntry | CountedEntry)[] {
  const kinds = Map.groupBy(entries, (entry) =>
    entry.decision === 'not_matched' && entry.triggerRuleId !== null ? kindOf(entry) : entry,
  );
  return [...kinds.values()].flatMap((alike): readonly (LogEntry | CountedEntry)[] =>
    alike.length < 2 ? alike : [count(alike)],
  );
}

const kindOf = ({ lineOaId, triggerRuleId, ruleVersion, triggerOn, reasonCode }: LogEntry): string =>
  JSON.stringify([lineOaId, triggerRuleId, ruleVersion, triggerOn, reasonCode]);

function count(alike: readonly LogEntry[]): CountedEntry {
  const [first] = alike;
  if (first === undefined) throw new Error('nothing is counted');
  const samples = alike
    .slice(0, SAMPLES)
    .map(({ userId, eventId, detail }) => ({ userId, eventId, ...(detail !== undefined && { detail }) }));
  return {
    ...first,
    ...{ userId: null, eventId: null, causeId: null, rootId: null, decision: 'not_matched' },
    evaluations: alike.length,
    detail: { samples },
  };
}

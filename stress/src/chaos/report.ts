import type { ExportRecord, HistoryReport, RecipientState } from '@dueline/line-simulator';
import type { Fleet } from '../fleet.ts';
import type { Stage } from './stage.ts';

const SAMPLE = 10;

type Recipient = Pick<Stage['planned'][number], 'lid' | 'user' | 'channelId'>;

interface Found {
  readonly seed: number;
  readonly minutes: number;
  readonly history: HistoryReport;
  /** What the product says of its recipients. */
  readonly records: readonly ExportRecord[];
  readonly planned: Stage['planned'];
  /** The only ones whom LINE refuses for themselves. */
  readonly poisoned: readonly string[];
  readonly fleet: Pick<Fleet, 'counts' | 'ended'>;
  /** How many requests met each fault. */
  readonly faults: Readonly<Record<string, number>>;
  /** Friends whom LINE does not show the menu that the product says it shows them. */
  readonly withoutMenu: readonly string[];
  /** Rows that never came to their end. */
  readonly open: readonly string[];
}

/** What was done and what was found, as one line of JSON has it. Pure. */
export function reportOf(found: Found) {
  const { seed, minutes, history, records, planned, poisoned, fleet, faults, withoutMenu, open } = found;
  const states = new Map<string, RecipientState>();
  const nameOf = ({ lid, user, channelId }: Recipient) => `${lid} of ${user} on ${channelId}`;
  const told = records.filter((record) => record.kind === 'state');
  for (const record of told) states.set(nameOf(record), record.state);
  const wronged = told.filter(({ state, user }) => state === 'invalid' && !poisoned.includes(user)).map(nameOf);
  const unexplained = planned.map(nameOf).filter((name) => (states.get(name) ?? 'planned') === 'planned');
  const counted: Record<string, number> = {};
  for (const state of states.values()) counted[state] = (counted[state] ?? 0) + 1;
  const broken = Object.fromEntries(Object.entries(history.counts).filter(([, count]) => count > 0));
  const { H1: doubled, H2: lost } = history.counts;
  const failures = [unexplained, wronged, withoutMenu, open, fleet.ended];
  const isWhole = failures.every(({ length }) => length === 0);
  const ok = history.ok && history.skipped.length === 0 && isWhole;
  return {
    ...{ seed, minutes, ok, planned: planned.length, states: counted, receipts: history.checked.receipts },
    ...{ lost, doubled, unexplained: unexplained.length, wronged: wronged.length, withoutMenu: withoutMenu.length },
    ...{ attempts: history.checked.attempts, faults, ...fleet.counts },
    ...{ invariants: broken, violations: history.violations, open: open.length, ended: fleet.ended.length },
    samples: {
      findings: history.findings.slice(0, SAMPLE),
      unexplained: unexplained.slice(0, SAMPLE),
      wronged: wronged.slice(0, SAMPLE),
      withoutMenu: withoutMenu.slice(0, SAMPLE),
      open: open.slice(0, SAMPLE),
      ended: fleet.ended,
    },
  };
}
export type ChaosReport = ReturnType<typeof reportOf>;

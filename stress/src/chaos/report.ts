import type { ExportRecord, HistoryReport, RecipientState } from '@dueline/line-simulator';
import type { Fleet } from '../fleet.ts';
import type { Stage } from './stage.ts';

const SAMPLE = 10;

interface Found {
  readonly seed: number;
  readonly minutes: number;
  readonly history: HistoryReport;
  /** What the product says of its recipients. */
  readonly records: readonly ExportRecord[];
  readonly planned: Stage['planned'];
  readonly fleet: Pick<Fleet, 'counts' | 'ended'>;
  /** How many requests met each fault. */
  readonly faults: Readonly<Record<string, number>>;
  /** Rows that never came to their end. */
  readonly open: readonly string[];
}

/** What was done and what was found, as one line of JSON has it. Pure. */
export function reportOf({ seed, minutes, history, records, planned, fleet, faults, open }: Found) {
  const states = new Map<string, RecipientState>();
  for (const record of records)
    if (record.kind === 'state') states.set(`${record.lid} of ${record.user} on ${record.channelId}`, record.state);
  const nameOf = ({ lid, user, channelId }: Stage['planned'][number]) => `${lid} of ${user} on ${channelId}`;
  const unexplained = planned.map(nameOf).filter((name) => (states.get(name) ?? 'planned') === 'planned');
  const counted: Record<string, number> = {};
  for (const state of states.values()) counted[state] = (counted[state] ?? 0) + 1;
  const broken = Object.fromEntries(Object.entries(history.counts).filter(([, count]) => count > 0));
  const { H1: doubled, H2: lost } = history.counts;
  const ok = history.ok && history.skipped.length === 0 && unexplained.length + open.length + fleet.ended.length === 0;
  return {
    ...{ seed, minutes, ok, planned: planned.length, states: counted, receipts: history.checked.receipts },
    ...{ lost, doubled, unexplained: unexplained.length, attempts: history.checked.attempts, faults, ...fleet.counts },
    ...{ invariants: broken, violations: history.violations, open: open.length, ended: fleet.ended.length },
    samples: {
      findings: history.findings.slice(0, SAMPLE),
      unexplained: unexplained.slice(0, SAMPLE),
      open: open.slice(0, SAMPLE),
      ended: fleet.ended,
    },
  };
}
export type ChaosReport = ReturnType<typeof reportOf>;

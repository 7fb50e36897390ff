import { APP_NAMES } from '@dueline/demo';
import type { HistoryReport, SummaryRow } from '@dueline/line-simulator';
import type { Fleet } from '../fleet.ts';
import type { CampaignOutcome, Pace, ToJudge } from './judge.ts';
import type { PlannedKill } from './plan.ts';
import type { Roll } from './roll-call.ts';
import type { StopTimes } from './stops.ts';

const SAMPLE = 10;

export interface Found {
  readonly run: ToJudge;
  readonly history: HistoryReport;
  readonly rolls: readonly Roll[];
  readonly fleet: Pick<Fleet, 'ended'>;
  readonly checkMs: number;
  readonly kills: readonly PlannedKill[];
  readonly results: readonly CampaignOutcome[];
  /** What LINE counts of each campaign. */
  readonly summary: readonly SummaryRow[];
  /** How many requests met each fault. */
  readonly faults: Readonly<Record<string, number>>;
  readonly pace: Pace;
  readonly stops: readonly StopTimes[];
  readonly audit: readonly string[];
}

/** What was done and what was found, as one line of JSON has it. Pure. */
export function reportOf(found: Found) {
  const { run, history, rolls, fleet, results, summary, faults, pace, audit } = found;
  const personOf = (lid: string) => (n: number) => `person ${n} of ${lid}`;
  const unexplained = rolls.flatMap((roll) => [...roll.unexplained()].map(personOf(roll.lid)));
  const twice = rolls.flatMap((roll) => roll.twice.map(personOf(roll.lid)));
  const blamed = rolls.flatMap((roll) => roll.blamed.map(personOf(roll.lid)));
  const miscounted = results.flatMap((result) => miscountsOf(result, found));
  const begunAfter = found.stops
    .filter(({ lastBegunMs }) => lastBegunMs > 0)
    .map(({ lid, verb, lastBegunMs }) => `${lid} began a request ${lastBegunMs} ms after its ${verb}`);
  const lists = { begunAfter, unexplained, twice, blamed, miscounted, audit, open: run.open, ended: fleet.ended };
  const broken = Object.fromEntries(Object.entries(history.counts).filter(([, count]) => count > 0));
  const violations =
    Object.values(lists).reduce((sum, { length }) => sum + length, 0) +
    Object.values(broken).reduce((sum, count) => sum + count, history.skipped.length);
  const { H1: doubled, H2: lost } = history.counts;
  return {
    ...{ seed: run.seed, recipients: run.recipients, ok: violations === 0, violations, lost, doubled },
    ...{ unexplained: unexplained.length, twice: twice.length, blamed: blamed.length },
    ...{ miscounted: miscounted.length, audit: audit.length },
    ...{ open: run.open.length, ended: fleet.ended.length },
    ...{ states: sumOf(rolls), receipts: history.checked.receipts, requests: history.checked.requests },
    campaigns: results.map(({ counts, ...result }) => ({ ...result, ...counts, ...ofLine(summary, result.lid) })),
    ...{
      stops: found.stops,
      faults,
      kills: killsOf(found.kills),
      invariants: broken,
      lineViolations: history.violations,
    },
    seconds: { populate: secondsOf(run.populateMs), send: secondsOf(run.sendMs), check: secondsOf(found.checkMs) },
    ...{ ...pace, rssMiB: { ...run.memory.peaks } },
    samples: {
      findings: history.findings.slice(0, SAMPLE),
      ...Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, list.slice(0, SAMPLE)])),
    },
  };
}
export type CampaignReport = ReturnType<typeof reportOf>;

const secondsOf = (ms: number): number => Math.round(ms / 100) / 10;

const killsOf = (kills: readonly PlannedKill[]): Record<string, number> =>
  Object.fromEntries(APP_NAMES.map((name) => [name, kills.filter(({ role }) => role === name).length]));

function sumOf(rolls: readonly Roll[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const { states } of rolls)
    for (const [state, count] of Object.entries(states)) sum[state] = (sum[state] ?? 0) + count;
  return sum;
}

const ofLine = (summary: readonly SummaryRow[], lid: string) => {
  const { receipts = 0, suppressed = 0, dropped = 0 } = summary.find((row) => row.lid === lid) ?? {};
  return { receipts, suppressed, dropped };
};

/** Where the counts of a campaign differ from what its requests say and from what LINE counts. */
function miscountsOf({ lid, counts }: CampaignOutcome, { rolls, summary }: Found): string[] {
  const roll = rolls.find((one) => one.lid === lid);
  if (counts === undefined || roll?.people === undefined) return [];
  const { accepted = 0, unknown = 0, refused = 0 } = counts;
  const { receipts, suppressed, dropped } = ofLine(summary, lid);
  const reached = receipts + suppressed + dropped;
  const people = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return [
    ...(refused === 0 ? [] : [`${lid} counts ${refused} people refused, though LINE takes its content`]),
    ...(people === roll.people ? [] : [`${lid} counts ${people} people of ${roll.people}`]),
    ...(accepted === (roll.states.accepted ?? 0) ? [] : [`${lid} counts ${accepted} accepted, its requests say other`]),
    ...(accepted <= reached && reached <= accepted + unknown
      ? []
      : [`${lid} counts ${accepted} accepted and ${unknown} unknown, LINE ${reached}`]),
  ];
}

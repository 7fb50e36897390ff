import type { Circumstances } from './measure/machine.ts';
import { rounded, type Standing } from './measure/rounds.ts';
import type { Finding, Scenario } from './scenario.ts';

export interface Report {
  readonly scenario: string;
  readonly command: string;
  readonly circumstances: Circumstances;
  readonly standings: readonly Standing[];
  readonly findings: readonly Finding[];
  readonly lost: number;
  readonly doubled: number;
  /** Nothing was lost or doubled, and no floor was missed. */
  readonly ok: boolean;
}

export function makeReport(
  { name }: Scenario,
  parts: Pick<Report, 'command' | 'circumstances' | 'standings' | 'findings'>,
): Report {
  const sum = (read: (standing: Standing) => number) => parts.standings.reduce((total, one) => total + read(one), 0);
  const lost = sum((standing) => standing.lost);
  const doubled = sum((standing) => standing.doubled);
  const isMissed = parts.findings.some(({ verdict }) => verdict === 'missed');
  return { scenario: name, ...parts, lost, doubled, ok: lost === 0 && doubled === 0 && !isMissed };
}

/** The report as a page in Markdown, which reads well in a terminal too. */
export function describeReport(scenario: Scenario, report: Report): string {
  const { circumstances, standings, findings } = report;
  return [
    scenario.what,
    '',
    `\`${report.command}\` at ${circumstances.commit}, ${circumstances.at} UTC, on ${circumstances.machine}.`,
    '',
    ...table(
      headOf(standings),
      standings.map((standing) => rowOf(standing, standings)),
    ),
    ...(findings.length === 0 ? [] : ['', ...table(FINDING_HEAD, findings.map(findingRow))]),
    '',
    ...standings.map(({ name, settings }) => `- ${name}: ${settings}.`),
    ...Object.entries(circumstances.servers).map(([server, settings]) => `- ${server} ${settings}.`),
  ].join('\n');
}

const namesOf = (standings: readonly Standing[], read: (standing: Standing) => object): string[] => [
  ...new Set(standings.flatMap((standing) => Object.keys(read(standing)))),
];

const headOf = (standings: readonly Standing[]): string[] => [
  'what',
  ...namesOf(standings, ({ figures }) => figures),
  ...namesOf(standings, ({ cpu }) => cpu).map((group) => (group === 'all' ? 'CPU-s/10k' : group)),
  'rounds',
  'others %',
  'spin ms',
  'lost',
  'doubled',
];

function rowOf(standing: Standing, standings: readonly Standing[]): string[] {
  const quiet = standing.samples.filter(({ isQuiet }) => isQuiet);
  const counted = quiet.length > 0 ? quiet : standing.samples;
  const range = (read: (sample: Standing['samples'][number]) => number) => rangeOf(counted.map(read));
  return [
    standing.name,
    ...namesOf(standings, ({ figures }) => figures).map((name) =>
      withRange(
        standing.figures[name],
        counted.map(({ figures }) => figures[name] ?? Number.NaN),
      ),
    ),
    ...namesOf(standings, ({ cpu }) => cpu).map((group) => figureCell(standing.cpu[group])),
    quiet.length > 0 ? String(quiet.length) : `${counted.length}, none quiet`,
    counted.some(({ isUseUnknown }) => isUseUnknown) ? '–' : range(({ use }) => use.foreignPercent),
    range(({ spin }) => spin),
    String(standing.lost),
    String(standing.doubled),
  ];
}

const figureCell = (value: number | undefined): string => (value === undefined ? '–' : rounded(value));

const rangeOf = (values: readonly number[]): string =>
  values.length === 1
    ? rounded(values[0] ?? Number.NaN)
    : `${rounded(Math.min(...values))}–${rounded(Math.max(...values))}`;

const withRange = (value: number | undefined, values: readonly number[]): string =>
  value === undefined ? '–' : values.length < 2 ? rounded(value) : `${rounded(value)} (${rangeOf(values)})`;

const FINDING_HEAD = ['expected', 'floor', 'goal', 'measured', ''];

const findingRow = ({ what, better, floor, goal, value, verdict }: Finding): string[] => {
  const sign = better === 'higher' ? '≥' : '≤';
  const bound = (limit: number | undefined) => (limit === undefined ? '–' : `${sign} ${limit}`);
  return [what, bound(floor), bound(goal), figureCell(value), VERDICTS[verdict]];
};

const VERDICTS = { goal: 'goal reached', floor: 'floor kept', missed: '**missed**', 'not measured': 'not measured' };

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((cell, at) => Math.max(3, cell.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [
    line(head),
    `|${widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`,
    ...rows.map(line),
  ];
}

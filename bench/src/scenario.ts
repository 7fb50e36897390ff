import type { Standing } from './measure/rounds.ts';
import type { Stage } from './product/stage.ts';

/** What the person who starts a bench may choose. */
export interface BenchOptions {
  /** Whether other queues are measured beside ours. */
  readonly peers: boolean;
  readonly rounds: number;
  /** Makes everything so much smaller, to try the bench itself; 1 for figures that count. */
  readonly scale: number;
  readonly interrupted: AbortSignal;
}

/** A promise about a figure: of one contestant alone, or in proportion to another one's. */
export interface Expectation {
  readonly what: string;
  readonly of: string;
  readonly to?: string;
  readonly figure: string;
  readonly better: 'higher' | 'lower';
  readonly floor: number;
  readonly goal?: number;
}

export interface Scenario {
  readonly name: string;
  /** For the list of scenarios. */
  readonly brief: string;
  /** What is measured, in a sentence for those who read the table. */
  readonly what: string;
  readonly expectations: readonly Expectation[];
  /** Whether other queues can be measured beside ours. */
  readonly hasPeers: boolean;
  run(stage: Stage, options: BenchOptions): Promise<Standing[]>;
}

type Verdict = 'goal' | 'floor' | 'missed' | 'not measured';

export interface Finding extends Expectation {
  readonly value: number | undefined;
  readonly verdict: Verdict;
}

export function judge(standings: readonly Standing[], expectations: readonly Expectation[]): Finding[] {
  const figureOf = (name: string, figure: string) => {
    const standing = standings.find((one) => one.name === name);
    return standing?.figures[figure] ?? (figure === CPU_FIGURE ? standing?.cpu.all : undefined);
  };
  return expectations.map((expectation) => {
    const { of, to, figure } = expectation;
    const own = figureOf(of, figure);
    const other = to === undefined ? 1 : figureOf(to, figure);
    const value = own === undefined || other === undefined ? undefined : own / other;
    return { ...expectation, value, verdict: verdictOf(expectation, value) };
  });
}

/** Processor seconds per 10,000 units, over all groups. */
export const CPU_FIGURE = 'CPU-s/10k';

function verdictOf({ better, floor, goal }: Expectation, value: number | undefined): Verdict {
  if (value === undefined) return 'not measured';
  const reaches = (bound: number) => (better === 'higher' ? value >= bound : value <= bound);
  if (!reaches(floor)) return 'missed';
  return goal === undefined || reaches(goal) ? 'goal' : 'floor';
}

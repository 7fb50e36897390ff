import type { ProcessorUse } from './processor.ts';
import { spinMs } from './processor.ts';
import { median } from './statistics.ts';

/** One run of one contestant. */
export interface Sample {
  /** What was measured, by name with its unit, e.g. `actions/s`. */
  readonly figures: Readonly<Record<string, number>>;
  readonly use: ProcessorUse;
  /** Units that `use` was spent for: processor time is told per 10,000 of them. */
  readonly units: number;
  /** Work that was to be done and was not, and work that was done more than once. */
  readonly lost: number;
  readonly doubled: number;
  /** Processes were killed in it and took with them what they had used, which now looks like others' use: neither is told. */
  readonly isUseUnknown?: boolean;
}

interface MeasuredSample extends Sample {
  readonly spin: number;
  /** False when others used the machine meanwhile: the sample is not used. */
  readonly isQuiet: boolean;
}

/** Something that is measured beside others. */
export interface Contestant {
  readonly name: string;
  /** How it is set, in one line. */
  readonly settings: string;
  run(): Promise<Sample>;
}

export interface Standing {
  readonly name: string;
  readonly settings: string;
  readonly samples: readonly MeasuredSample[];
  /** Medians of the quiet samples, or of all where none was quiet. */
  readonly figures: Readonly<Record<string, number>>;
  /** Processor seconds per 10,000 units, by group. */
  readonly cpu: Readonly<Record<string, number>>;
  readonly lost: number;
  readonly doubled: number;
}

export interface RoundOptions {
  /** Quiet samples of each contestant that are wanted. */
  readonly rounds: number;
  readonly tell: (line: string) => void;
  readonly interrupted: AbortSignal;
  /** Each rejects when what is measured cannot go on. */
  readonly broken?: readonly Promise<never>[];
  /** How long a run of a contestant may take, in milliseconds: an hour unless given. */
  readonly limitMs?: number;
}

/** A sample is dropped when others used more than this part of the machine. */
const MAX_FOREIGN_PERCENT = 15;
/** Far more than any takes: whoever has not ended waits for what will not come. */
const LIMIT_MS = 3_600_000;
/** Rounds in all, for each that is wanted. */
const TRIES = 2;

/**
 * Runs the contestants one after the other, round for round, so that what changes on the machine meanwhile meets all of them. A
 * round is repeated for those whose sample was not quiet, up to twice as many rounds as wanted.
 *
 * @throws Error when a run does not end within the limit, or can not; what it is at then is the caller's to take away from under it.
 */
export async function runRounds(contestants: readonly Contestant[], options: RoundOptions): Promise<Standing[]> {
  const samples = new Map<Contestant, MeasuredSample[]>(contestants.map((contestant) => [contestant, []]));
  const quietOf = (contestant: Contestant) => (samples.get(contestant) ?? []).filter(({ isQuiet }) => isQuiet).length;
  for (let round = 1; round <= options.rounds * TRIES; round += 1) {
    const wanting = contestants.filter((contestant) => quietOf(contestant) < options.rounds);
    for (const contestant of wanting) {
      if (options.interrupted.aborted) throw new Error('interrupted');
      const sample = await measure(contestant, options);
      samples.get(contestant)?.push(sample);
      options.tell(`round ${round}  ${contestant.name}: ${describe(sample)}`);
    }
  }
  return contestants.map((contestant) => standingOf(contestant, samples.get(contestant) ?? []));
}

async function measure(contestant: Contestant, options: RoundOptions): Promise<MeasuredSample> {
  const spin = spinMs();
  const sample = await withinLimit(contestant, options);
  const { isUseUnknown = false, use } = sample;
  return { ...sample, spin, isQuiet: isUseUnknown || use.foreignPercent <= MAX_FOREIGN_PERCENT };
}

async function withinLimit(contestant: Contestant, { limitMs = LIMIT_MS, broken = [] }: RoundOptions): Promise<Sample> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`"${contestant.name}" had not ended after ${limitMs / 60_000} minutes`)),
    limitMs,
  );
  try {
    return await Promise.race([contestant.run(), late.promise, ...broken]);
  } finally {
    clearTimeout(timer);
  }
}

const describe = ({ figures, use, isQuiet, isUseUnknown, lost, doubled }: MeasuredSample): string =>
  [
    ...Object.entries(figures).map(([name, value]) => `${rounded(value)} ${name}`),
    isUseUnknown ? 'others unknown' : `others ${rounded(use.foreignPercent)} %${isQuiet ? '' : ', not counted'}`,
    ...(lost + doubled === 0 ? [] : [`LOST ${lost}, DOUBLED ${doubled}`]),
  ].join(', ');

function standingOf(
  { name, settings }: Pick<Contestant, 'name' | 'settings'>,
  samples: readonly MeasuredSample[],
): Standing {
  const quiet = samples.filter(({ isQuiet }) => isQuiet);
  const counted = quiet.length > 0 ? quiet : samples;
  const medians = (read: (sample: MeasuredSample) => Readonly<Record<string, number>>) =>
    Object.fromEntries(
      Object.keys(counted[0] === undefined ? {} : read(counted[0])).map((key) => [
        key,
        median(counted.map((sample) => read(sample)[key] ?? Number.NaN)),
      ]),
    );
  return {
    ...{ name, settings, samples },
    figures: medians(({ figures }) => figures),
    cpu: medians(cpuOf),
    lost: samples.reduce((sum, sample) => sum + sample.lost, 0),
    doubled: samples.reduce((sum, sample) => sum + sample.doubled, 0),
  };
}

/** Processor seconds per 10,000 units by group, without what the bench itself used to watch. */
function cpuOf({ use, units, isUseUnknown }: Sample): Record<string, number> {
  if (isUseUnknown) return {};
  const { bench: _, ...groups } = use.seconds;
  const per = Object.entries(groups).map(([group, seconds]): [string, number] => [group, (seconds / units) * 10_000]);
  return { ...Object.fromEntries(per), all: per.reduce((sum, [, seconds]) => sum + seconds, 0) };
}

/** Three digits are all that such figures are worth. */
export const rounded = (value: number): string => {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
};

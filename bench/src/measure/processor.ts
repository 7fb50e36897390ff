import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Clock ticks per second in /proc, on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

interface ProcessTimes {
  readonly parent: number;
  readonly seconds: number;
}

/** Processes whose time is counted together: each root with everything that comes from it. */
export type Groups = Readonly<Record<string, () => readonly number[]>>;

/** What the processors did between two moments. */
export interface ProcessorUse {
  readonly wallSeconds: number;
  /** By group; `bench` is this process without its children. */
  readonly seconds: Readonly<Record<string, number>>;
  /** Of all processors' time, in percent: what neither a group nor this process used. */
  readonly foreignPercent: number;
}

interface Moment {
  readonly at: number;
  readonly busy: number;
  readonly seconds: Readonly<Record<string, number>>;
}

/** Without what `apps` used to start: what is measured is work. */
export const withoutBoot = (use: ProcessorUse, bootCpuSeconds: number): ProcessorUse => ({
  ...use,
  seconds: { ...use.seconds, apps: Math.max(0, (use.seconds.apps ?? 0) - bootCpuSeconds) },
});

/** Starts to count processor time. @returns what tells the use since then. @throws Error where there is no /proc. */
export function meterProcessors(groups: Groups): () => ProcessorUse {
  const begin = readMoment(groups);
  return () => {
    const end = readMoment(groups);
    const wallSeconds = (end.at - begin.at) / 1_000;
    const seconds = Object.fromEntries(
      Object.entries(end.seconds).map(([group, sum]) => [group, Math.max(0, sum - (begin.seconds[group] ?? 0))]),
    );
    const ours = Object.values(seconds).reduce((sum, one) => sum + one, 0);
    const foreign = (end.busy - begin.busy - ours) / (wallSeconds * availableParallelism());
    return { wallSeconds, seconds, foreignPercent: Math.max(0, foreign * 100) };
  };
}

function readMoment(groups: Groups): Moment {
  const processes = readProcesses();
  const children = Map.groupBy(processes.keys(), (pid) => processes.get(pid)?.parent ?? 0);
  const treeSeconds = (pid: number): number => {
    const own = processes.get(pid)?.seconds ?? 0;
    return (children.get(pid) ?? []).reduce((sum, child) => sum + treeSeconds(child), own);
  };
  const { user, system } = process.cpuUsage();
  const sums = Object.entries(groups).map(([group, roots]) => [
    group,
    roots().reduce((sum, pid) => sum + treeSeconds(pid), 0),
  ]);
  return {
    at: performance.now(),
    busy: readBusySeconds(),
    seconds: { ...Object.fromEntries(sums), bench: (user + system) / 1e6 },
  };
}

/** Own time of every process, and that of children which it has collected. */
function readProcesses(): ReadonlyMap<number, ProcessTimes> {
  const processes = new Map<number, ProcessTimes>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = readFields(name);
    if (fields === undefined) continue;
    const ticks = fields.slice(11, 15).reduce((sum, text) => sum + Number(text), 0);
    processes.set(Number(name), { parent: Number(fields[1]), seconds: ticks / TICKS_PER_SECOND });
  }
  return processes;
}

/** The fields after the command, which may hold spaces itself; undefined: the process ended meanwhile. */
function readFields(pid: string): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** user, nice, system, irq, softirq and steal of all processors together. */
function readBusySeconds(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const ticks = line.trim().split(/\s+/).slice(1).map(Number);
  return [0, 1, 2, 5, 6, 7].reduce((sum, at) => sum + (ticks[at] ?? 0), 0) / TICKS_PER_SECOND;
}

const SPINS = 5e7;

/** Milliseconds for a fixed piece of work of one thread: what this machine is worth just now. */
export function spinMs(): number {
  const startedAt = performance.now();
  let sum = 0;
  for (let n = 0; n < SPINS; n += 1) sum = (sum + n * 31) | 0;
  return performance.now() - startedAt + (sum === 1 ? 1 : 0);
}

import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { systemCode } from './errors.ts';

/** What Linux tells about a process. Pid and start time together name one process for as long as the machine runs. */
export interface ProcessStat {
  state: string;
  parent: number;
  group: number;
  startTime: string;
  threads: number;
}

/** Which boot and which pid namespace a pid belongs to: the same number means something else in a container. */
export interface Machine {
  bootId: string;
  pidNamespace: string;
}

/** /proc may not be mounted in a bare chroot, and does not exist on macOS. */
export const hasProc = (): boolean => existsSync('/proc/self/stat');

/** Undefined when there is no such process, or no /proc to ask. */
export function readStat(pid: number): ProcessStat | undefined {
  const text = unlessGone(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (text === undefined) return undefined;
  // The second field is the command in parentheses and may hold spaces and parentheses itself.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    startTime: fields[19] ?? '',
    threads: Number(fields[17]),
  };
}

/** The working folder of a process; undefined when it is gone or belongs to somebody else. */
export const workingFolder = (pid: number): string | undefined => unlessGone(() => readlinkSync(`/proc/${pid}/cwd`));

/** The running processes of a group. A killed process that its parent has not collected yet does not count. */
export const groupMembers = (group: number): number[] =>
  running()
    .filter(({ stat }) => stat.group === group)
    .map(({ pid }) => pid);

/** The process and the running ones that come from it, in whatever group; itself alone where there is no /proc. */
export function family(pid: number): number[] {
  if (!hasProc()) return [pid];
  const children = Map.groupBy(running(), ({ stat }) => stat.parent);
  const from = (parent: number): number[] => [
    parent,
    ...(children.get(parent) ?? []).flatMap((child) => from(child.pid)),
  ];
  return from(pid);
}

const running = (): { pid: number; stat: ProcessStat }[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .flatMap((pid) => {
      const stat = readStat(pid);
      return stat === undefined || isZombie(stat) ? [] : [{ pid, stat }];
    });

/** Ended and not collected yet. A first thread that ended before the others is none: those still hold its files and ports. */
export const isZombie = ({ state, threads }: ProcessStat): boolean => (state === 'Z' || state === 'X') && threads <= 1;

/** Undefined when /proc cannot tell. */
export function thisMachine(): Machine | undefined {
  if (!hasProc()) return undefined;
  return {
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    pidNamespace: readlinkSync('/proc/self/ns/pid'),
  };
}

/** False only when there is certainly no such process. */
export function mayBeAlive(target: number): boolean {
  try {
    process.kill(target, 0);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return false;
    if (systemCode(error) === 'EPERM') return true;
    throw error;
  }
}

/** Sends a signal; a process or group (negative) that is gone already is fine. */
export function signal(target: number, name: NodeJS.Signals): void {
  try {
    process.kill(target, name);
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error;
  }
}

function unlessGone<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

import { readFile } from 'node:fs/promises';
import { sleep } from '@dueline/kernel';

/** The most resident memory of a process of each role, in MiB; empty where there is no /proc. */
export interface MemoryMeter {
  readonly peaks: Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

const EVERY_MS = 500;
const KIB_PER_MIB = 1_024;

/** @param running Whoever runs now; asked again and again, for processes die and are replaced. */
export function meterMemory(
  running: () => readonly { readonly role: string; readonly pid: number | undefined }[],
): MemoryMeter {
  const peaks: Record<string, number> = {};
  const stopped = new AbortController();
  const measure = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await Promise.all(
        running().map(async ({ role, pid }) => {
          peaks[role] = Math.max(peaks[role] ?? 0, await peakOf(pid));
        }),
      );
      await sleep(EVERY_MS, stopped.signal);
    }
  };
  const measuring = measure();
  return {
    peaks,
    stop: async () => {
      stopped.abort();
      await measuring;
    },
  };
}

/** What the kernel says was the most so far; 0 of a process that is gone. */
async function peakOf(pid: number | undefined): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / KIB_PER_MIB);
  } catch {
    return 0;
  }
}

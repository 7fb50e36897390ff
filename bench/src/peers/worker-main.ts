// A worker process of one peer. Its parent tells it over IPC what to work on and when to stop; without a parent it ends.
import { PEERS } from './index.ts';
import type { OnJob } from './peer.ts';
import type { Order, PeerWork, Report } from './run-worker.ts';

const REPORT_EVERY_MS = 50;
const NS_PER_MS = 1e6;

const report = (message: Report, sent = (): void => undefined): void => void process.send?.(message, sent);

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** Date shows whole milliseconds only. */
const nowMs = (): number => Number(Temporal.Now.instant().epochNanoseconds) / NS_PER_MS;

async function begin({ name, mode, urls }: PeerWork): Promise<() => Promise<void>> {
  const jobs: number[] = [];
  const latenessMs: number[] = [];
  let firstAt = 0;
  let lastAt = 0;
  let bootCpuSeconds = 0;
  const isTimed = mode !== 'tuned';
  const onJob: OnJob = ({ n, dueAt }) => {
    lastAt = isTimed ? nowMs() : Date.now();
    if (jobs.length === 0) {
      firstAt = lastAt;
      bootCpuSeconds = cpuSeconds();
    }
    jobs.push(n);
    if (isTimed) latenessMs.push(lastAt - dueAt);
  };
  const stop = await PEERS[name](urls).work(mode, onJob);
  const timer = setInterval(() => report({ kind: 'handled', handled: jobs.length }), REPORT_EVERY_MS);
  return async () => {
    await stop();
    clearInterval(timer);
    const final = {
      ...{ firstAt, lastAt, bootCpuSeconds, cpuSeconds: cpuSeconds() },
      ...{ jobs: Uint32Array.from(jobs), latenessMs: Float64Array.from(latenessMs) },
    };
    report({ kind: 'final', final }, () => process.exit(0));
  };
}

let stop: (() => Promise<void>) | undefined;

async function obey(order: Order): Promise<void> {
  if (order.kind === 'stop') {
    await stop?.();
    return;
  }
  stop = await begin(order.work);
  report({ kind: 'ready' });
}

process.on('disconnect', () => process.exit(0));
process.on('message', (order: Order) => void obey(order)); // what it throws ends the process, and is printed

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { meterProcessors, withoutBoot } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import { median } from '../measure/statistics.ts';
import type { BareResult } from './bare-main.ts';
import type { Product } from './product.ts';
import type { Stage } from './stage.ts';
import { clear, DUE, fill, settle } from './work.ts';

const MAIN = fileURLToPath(new URL('bare-main.ts', import.meta.url));

interface BareOptions {
  readonly name: string;
  readonly count: number;
  /** Actions that are claimed before the claims that are timed. */
  readonly before?: number;
  readonly beside?: () => Promise<() => Promise<void>>;
}

/** Our claim and our finish in one process, without history, message or decision: what the same code costs at least. */
export const bareContestant = (stage: Stage, product: Product, options: BareOptions): Contestant => ({
  name: options.name,
  settings: 'one process: claimBatch of 500 and finishActions, each a transaction of its own',
  run: () => drainBare(stage, product, options),
});

async function drainBare(stage: Stage, product: Product, { count, before = 0, beside }: BareOptions): Promise<Sample> {
  const all = before + count;
  await clear(product, { keepWaiting: false });
  await fill(product, { count: all, when: DUE });
  await settle(product);
  const endBeside = await beside?.();
  const child = spawn(process.execPath, [MAIN], {
    env: { DATABASE_URL: product.place.databaseUrl },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const use = meterProcessors({ ...stage.servers, apps: () => [child.pid ?? 0] });
  try {
    const result = await readResult(child);
    const used = withoutBoot(use(), result.bootCpuSeconds);
    const claims = result.claimMs.slice(Math.floor((result.claimMs.length * before) / all));
    const seconds = (result.endedAt - result.startedAt) / 1_000;
    return {
      figures: { 'actions/s': all / seconds, 'claim p50 ms': median(claims) },
      ...{ use: used, units: all, lost: all - result.finished, doubled: Math.max(0, result.claimed - all) },
    };
  } finally {
    child.stdin.end();
    await endBeside?.();
  }
}

/** Its one line, as soon as it is complete: the process stays until its input ends. */
async function readResult(child: ChildProcessByStdio<Writable, Readable, null>): Promise<BareResult> {
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as BareResult;
  throw new Error('claiming alone ended without a result');
}

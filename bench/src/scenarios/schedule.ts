import { inTransaction } from '@dueline/db';
import { type Scheduled, scheduleAction, scheduleMany } from '@dueline/scheduled-actions';
import { recordScheduled } from '@dueline/trigger-rules';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import { inLanes } from '../peers/calls.ts';
import type { Job } from '../peers/peer.ts';
import type { Product } from '../product/product.ts';
import type { Stage } from '../product/stage.ts';
import { clear, settle } from '../product/work.ts';
import { actionOf } from '../product/write.ts';
import type { Scenario } from '../scenario.ts';
import type { Peers } from './peer-drains.ts';
import { withProduct } from './with-product.ts';

/** So many that plans and caches of each connection are those of a process that has been running for a while. */
const SINGLE = 20_000;
const BULK = 100_000;
const CONCURRENCY = 10;
const BATCH = 500;
const DAY_MS = 86_400_000;

const singly = (name: string): string => `${name}, one by one`;
const inBulk = (name: string): string => `${name}, in bulk`;
const OURS = 'Dueline';

export const scheduleScenario: Scenario = {
  name: 'schedule',
  brief: 'putting work off, one by one and in bulk',
  hasPeers: true,
  what: `Work that shall wait until tomorrow: ${SINGLE.toLocaleString('en-US')} one by one, ${CONCURRENCY} in flight, each in a transaction of its own; and 100,000 in bulk. Ours writes its line of history with each.`,
  expectations: [
    ['one by one against pg-boss', singly(OURS), singly('pg-boss'), 1.5, 2],
    ['one by one against graphile-worker', singly(OURS), singly('graphile-worker'), 1.5, 2],
    ['one by one against a plain INSERT', singly(OURS), singly('raw-sql'), 0.7, 0.9],
    ['one by one against plain SQL for the same rows', singly(OURS), singly('raw-sql-with-history'), 0.7, 0.9],
    ['in bulk against graphile-worker', inBulk(OURS), inBulk('graphile-worker'), 1.2, 2],
    ['in bulk against plain SQL for the same rows', inBulk(OURS), inBulk('raw-sql-with-history'), 0.7, 0.9],
  ].map(([what, of, to, floor, goal]) => ({
    ...{ what: String(what), of: String(of), to: String(to), figure: 'rows/s', better: 'higher' },
    ...{ floor: Number(floor), goal: Number(goal) },
  })),
  run: (stage, options) => {
    const counts = { single: Math.round(SINGLE * options.scale), bulk: Math.round(BULK * options.scale) };
    return withProduct(stage, { ...options, name: 'schedule' }, (product, peers) => [
      ...ours(stage, product, counts),
      ...(peers === undefined ? [] : others(stage, peers, counts)),
    ]);
  },
};

interface Counts {
  readonly single: number;
  readonly bulk: number;
}

function ours(stage: Stage, product: Product, { single, bulk }: Counts): Contestant[] {
  const { db } = product.database;
  const prepare = async () => {
    await clear(product, { keepWaiting: false });
    await settle(product);
  };
  const written = async () => {
    const { rows } = await db.$client.query<{ rows: number }>(
      'select count(distinct action.id)::int as rows from scheduled_action as action join trigger_log on scheduled_action_id = action.id',
    );
    return rows[0]?.rows ?? 0;
  };
  const actionAt = (n: number) => actionOf(product, n, DAY_MS / 1_000);
  const history = recordScheduled('attribute_changed'); // as a rule that fires writes it
  const writeMany = async (from: number, to: number) => {
    const actions = Array.from({ length: to - from }, (_, at) => actionAt(from + at));
    for (const made of await inTransaction(db, (tx) => scheduleMany(tx, actions, history))) mustBeMade(made);
  };
  return [
    {
      name: singly(OURS),
      settings: `scheduleAction, the row and its line of history in a statement and a transaction, ${CONCURRENCY} in flight`,
      run: () => {
        const numbers = Array.from({ length: single }, (_, n) => n);
        const work = () =>
          inLanes(numbers, CONCURRENCY, async (n) => mustBeMade(await scheduleAction(db, actionAt(n), history)));
        return timed(stage, { count: single, prepare, work, written });
      },
    },
    {
      name: inBulk(OURS),
      settings: `scheduleMany of ${BATCH} and their history in a transaction, one after the other`,
      run: () => {
        const work = async () => {
          for (let first = 0; first < bulk; first += BATCH) await writeMany(first, Math.min(bulk, first + BATCH));
        };
        return timed(stage, { count: bulk, prepare, work, written });
      },
    },
  ];
}

function mustBeMade({ result }: Scheduled): void {
  if (result !== 'made') throw new Error(`an action was not made: ${result}`);
}

function others(stage: Stage, peers: Peers, { single, bulk }: Counts): Contestant[] {
  const jobs = (count: number): Job[] =>
    Array.from({ length: count }, (_, n) => ({ n, dueAt: Date.now() + DAY_MS + ((n * 7_919) % DAY_MS) }));
  return [...peers.all].flatMap(([name, peer]) => {
    const prepare = async () => {
      await peer.prepareServer?.();
      await peer.reset();
      await peer.settle();
    };
    return [
      {
        name: singly(name),
        settings: `${peer.describe('default')}, ${CONCURRENCY} in flight`,
        run: () =>
          timed(stage, {
            count: single,
            prepare,
            work: () => peer.addSingly(jobs(single), CONCURRENCY),
            written: () => peer.waiting(),
          }),
      },
      {
        name: inBulk(name),
        settings: `${peer.describe('default')}, 1,000 a call`,
        run: () =>
          timed(stage, { count: bulk, prepare, work: () => peer.addMany(jobs(bulk)), written: () => peer.waiting() }),
      },
    ];
  });
}

interface Timed {
  readonly count: number;
  readonly prepare: () => Promise<void>;
  readonly work: () => Promise<unknown>;
  readonly written: () => Promise<number>;
}

/** The writer is this process: its processor time is that of an app here. */
async function timed({ servers }: Stage, { count, prepare, work, written }: Timed): Promise<Sample> {
  await prepare();
  const use = meterProcessors(servers);
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  const used = use();
  const { bench = 0, ...groups } = used.seconds;
  const rows = await written();
  return {
    figures: { 'rows/s': count / seconds },
    use: { ...used, seconds: { ...groups, apps: bench } },
    ...{ units: count, lost: Math.max(0, count - rows), doubled: Math.max(0, rows - count) },
  };
}

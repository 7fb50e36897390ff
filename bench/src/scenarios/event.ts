import { sleep } from '@dueline/kernel';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import { lateness } from '../measure/statistics.ts';
import {
  ACCOUNTS,
  CHANGES_AT_MOST,
  clearEvents,
  countEvents,
  givePoints,
  hearMessages,
  movePerson,
  paced,
  recordedAt,
  setTriggers,
  untilDecided,
} from '../product/events.ts';
import { PEOPLE, type Product, userOf } from '../product/product.ts';
import type { Stage } from '../product/stage.ts';
import type { Expectation, Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const RATES = [100, 500, 1_000] as const;
const SECONDS = 20;
const WRITERS = 4;
const SINGLE_ROWS = 20_000;
const MANY = 100;
const MANY_ROWS = 200_000;
const APPS = ['pg-listener', 'trigger-worker'] as const;
const IDLE_MS = 3_000;
/** Part of the changes that meet apps which were just started: connections open, the compiler settles. They have a figure of their own. */
const WARM_UP = 0.1;
const TIMEOUT_MS = 120_000;
const RATE = 'rows/s';

const atRate = (rate: number): string => `${rate.toLocaleString('en-US')} changes a second`;
const ofRows = (many: number, withTriggers: boolean): string =>
  `${many === 1 ? 'single rows' : `statements of ${many} rows`}, ${withTriggers ? 'our triggers' : 'no trigger'}`;

const writerKeeps = (many: number, floor: number, goal: number): Expectation => ({
  ...{ what: `a writer of ${many === 1 ? 'single rows' : `${many} rows a statement`} with our triggers against none` },
  ...{ of: ofRows(many, true), to: ofRows(many, false), figure: RATE, better: 'higher', floor, goal },
});

export const eventScenario: Scenario = {
  name: 'event',
  brief: 'from the change of an attribute to the message, and what our triggers cost the writer',
  hasPeers: false,
  what: `Attributes of people change, each in a transaction of its own, so many a second for ${SECONDS} seconds; each change sets off a rule that sends a message. How long from when the trigger recorded the change, before its writer had committed, until the ticket of the message is in the hands of whoever sends it; the first tenth of them, which meet apps that were just started, apart (\`cold\`). And ${WRITERS} writers, each as fast as it can, with our triggers on \`line_user\` and without any, and no app of ours.`,
  expectations: [
    ...[
      { what: 'change to message at 500 a second, p50 ms', figure: 'p50 ms', floor: 10 },
      { what: 'change to message at 500 a second, p99 ms', figure: 'p99 ms', floor: 50, goal: 25 },
    ].map((expectation) => ({ ...expectation, of: atRate(500), better: 'lower' as const })),
    writerKeeps(1, 0.5, 0.65),
    writerKeeps(MANY, 0.7, 0.85),
  ],
  run: (stage, options) =>
    withProduct(stage, { ...options, name: 'event', accounts: ACCOUNTS }, (product) => [
      ...RATES.map((rate) => changes(stage, product, { rate, count: scaled(rate * SECONDS, options.scale) })),
      ...[1, MANY].flatMap((many) =>
        [true, false].map((withTriggers) => {
          const rows = Math.max(WRITERS * MANY, scaled(many === 1 ? SINGLE_ROWS : MANY_ROWS, options.scale));
          return writers(stage, product, { many, withTriggers, statements: Math.ceil(rows / many / WRITERS) });
        }),
      ),
    ]),
};

const scaled = (count: number, scale: number): number =>
  Math.max(50, Math.round(Math.min(count, CHANGES_AT_MOST) * scale));

const changes = (stage: Stage, product: Product, load: { rate: number; count: number }): Contestant => ({
  name: atRate(load.rate),
  settings: 'one pg-listener, one trigger-worker, one rule for each of two accounts; defaults otherwise',
  run: async () => {
    await clearEvents(product);
    const running = await product.start({}, [...APPS]);
    try {
      await sleep(IDLE_MS);
      const use = meterProcessors({ ...stage.servers, apps: () => running.apps.map(({ child }) => child.pid ?? 0) });
      const sample = await change(product, load);
      return { ...sample, use: use() };
    } finally {
      await running.stop();
    }
  },
});

async function change(
  product: Product,
  { rate, count }: { rate: number; count: number },
): Promise<Omit<Sample, 'use'>> {
  const { arrivals, drain } = await hearMessages(product);
  const startedAt = performance.now();
  await paced(count, rate, (n) => movePerson(product, n));
  const seconds = (performance.now() - startedAt) / 1_000;
  await untilDecided(product, TIMEOUT_MS);
  for (const deadline = performance.now() + TIMEOUT_MS; arrivals.size < count && performance.now() < deadline; )
    await sleep(10);
  await drain();
  const recorded = await recordedAt(product.database.db);
  const late = [...recorded]
    .sort(([, left], [, right]) => left - right)
    .flatMap(([id, at]) => (arrivals.get(id) ?? []).slice(0, 1).map((came) => came - at));
  const warm = Math.ceil(late.length * WARM_UP);
  const { p50, p95, p99, max } = lateness(late.slice(warm));
  const cold = lateness(late.slice(0, warm));
  return {
    figures: {
      ...{ 'p50 ms': p50, 'p95 ms': p95, 'p99 ms': p99, 'max ms': max },
      ...{ 'cold p99 ms': cold.p99, 'written/s': count / seconds },
    },
    ...{ units: count, lost: Math.max(0, count - late.length) },
    doubled:
      Math.max(0, recorded.size - count) + [...arrivals.values()].reduce((sum, { length }) => sum + length - 1, 0),
  };
}

interface Writing {
  /** Rows of a statement. */
  readonly many: number;
  readonly withTriggers: boolean;
  /** Of each writer. */
  readonly statements: number;
}

const writers = (stage: Stage, product: Product, writing: Writing): Contestant => ({
  name: ofRows(writing.many, writing.withTriggers),
  settings: `${WRITERS} connections, each ${writing.statements.toLocaleString('en-US')} statements of ${writing.many} rows, a transaction each`,
  run: async () => {
    await clearEvents(product);
    await setTriggers(product, writing.withTriggers);
    try {
      const use = meterProcessors(stage.servers);
      const startedAt = performance.now();
      await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(product, writer, writing)));
      const seconds = (performance.now() - startedAt) / 1_000;
      const used = use();
      const rows = WRITERS * writing.statements * writing.many;
      const events = await countEvents(product);
      const wanted = writing.withTriggers ? rows : 0;
      return {
        figures: { [RATE]: rows / seconds },
        ...{ use: used, units: rows, lost: Math.max(0, wanted - events), doubled: Math.max(0, events - wanted) },
      };
    } finally {
      await setTriggers(product, true);
    }
  },
});

/** Each writer has people of its own, and changes them by turns. */
async function write(product: Product, writer: number, { many, statements }: Writing): Promise<void> {
  const lineOaId = product.accounts[writer % ACCOUNTS]?.lineOaId ?? '';
  const people = PEOPLE / 2;
  const first = writer < ACCOUNTS ? 0 : people;
  for (let statement = 0; statement < statements; statement += 1) {
    const userIds = Array.from({ length: many }, (_, n) => userOf(first + ((statement * many + n) % people)));
    await givePoints(product, { lineOaId, userIds, points: statement + 8 });
  }
}

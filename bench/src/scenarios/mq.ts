import { MAX_TICKETS_PER_MESSAGE, scheduledActionFire, type Tickets } from '@dueline/contracts';
import { type Broker, DONE, type OutgoingMessage } from '@dueline/mq';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import { connectTo } from '../product/broker.ts';
import type { Product } from '../product/product.ts';
import type { Stage } from '../product/stage.ts';
import type { Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const MESSAGES = 5_000;
/** Messages of one publish, as one claim of 500 actions with a ticket each would make them. */
const WINDOW = 500;
const CONCURRENCY = 100;
const SIZES = [1, 50, MAX_TICKETS_PER_MESSAGE] as const;
const nameOf = (tickets: number): string => `${tickets} action${tickets === 1 ? '' : 's'} a message`;

export const mqScenario: Scenario = {
  name: 'mq',
  brief: 'fire messages of 1, 50 and 100 actions',
  hasPeers: false,
  what: 'Fire messages of 1, 50 and 100 actions through our own client and a quorum queue: published with a confirm for each, then consumed and acknowledged one by one.',
  expectations: [
    {
      what: 'actions published in messages of 100 against messages of 1',
      ...{ of: nameOf(MAX_TICKETS_PER_MESSAGE), to: nameOf(1), figure: 'actions published/s' },
      ...{ better: 'higher', floor: 10 },
    },
  ],
  run: (stage, options) => {
    const messages = Math.round(MESSAGES * options.scale);
    return withProduct(stage, { ...options, name: 'mq' }, (product) =>
      SIZES.map((tickets) => contestant(stage, product, { tickets, messages })),
    );
  },
};

const contestant = (stage: Stage, product: Product, size: { tickets: number; messages: number }): Contestant => ({
  name: nameOf(size.tickets),
  settings: `${WINDOW} messages a publish, ${CONCURRENCY} in hand of the consumer`,
  run: async () => {
    const broker = await connectTo(product);
    try {
      return await publishAndConsume(stage, broker, { ...size, tenant: product.accounts[0] });
    } finally {
      await broker.close();
    }
  },
});

interface Traffic {
  readonly tickets: number;
  readonly messages: number;
  readonly tenant: Product['accounts'][number] | undefined;
}

async function publishAndConsume(stage: Stage, broker: Broker, traffic: Traffic): Promise<Sample> {
  const { tickets, messages } = traffic;
  const units = tickets * messages;
  const use = meterProcessors(stage.servers);
  const publishing = await timed(() => publishAll(broker, traffic));
  const seen = new Map<string, number>();
  const consuming = await timed(() => consumeAll(broker, { messages, seen }));
  const used = use();
  const { bench = 0, ...groups } = used.seconds;
  const doubled = [...seen.values()].reduce((sum, times) => sum + times - 1, 0);
  return {
    figures: {
      'actions published/s': units / publishing,
      'actions consumed/s': units / consuming,
      'messages published/s': messages / publishing,
    },
    use: { ...used, seconds: { ...groups, apps: bench } },
    ...{ units, lost: messages - seen.size, doubled },
  };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1_000;
}

async function publishAll(broker: Broker, { tickets, messages, tenant }: Traffic): Promise<void> {
  if (tenant === undefined) throw new Error('there is no account');
  const { organizationId, lineOaId } = tenant;
  const messageOf = (n: number): OutgoingMessage<Tickets> => ({
    tenant: { organizationId, lineOaId },
    data: { tickets: Array.from({ length: tickets }, (_, at) => ({ id: String(1 + n * tickets + at), fence: '1' })) },
  });
  for (let first = 0; first < messages; first += WINDOW) {
    const size = Math.min(WINDOW, messages - first);
    const results = await broker.publish(
      scheduledActionFire,
      Array.from({ length: size }, (_, at) => messageOf(first + at)),
    );
    if (results.some(({ ok }) => !ok)) throw new Error('a message was not confirmed');
  }
}

/** Resolves when as many as were published have been handled; what comes twice is in `seen`. */
async function consumeAll(
  broker: Broker,
  { messages, seen }: { messages: number; seen: Map<string, number> },
): Promise<void> {
  const all = Promise.withResolvers<void>();
  const consumer = broker.consume(
    scheduledActionFire,
    async ({ data }) => {
      const first = data.tickets[0]?.id ?? '';
      seen.set(first, (seen.get(first) ?? 0) + 1);
      if (seen.size === messages) all.resolve();
      return DONE;
    },
    { concurrency: CONCURRENCY },
  );
  await all.promise;
  await broker.settled();
  await consumer.drain();
}

import {
  actionExecute,
  campaignClick,
  type Queue,
  scheduledActionFire,
  scheduledActionFireNow,
  type Tenant,
  type Ticket,
  type Tickets,
} from '@dueline/contracts';
import type { Db } from '@dueline/db';
import type { Stack } from '@dueline/demo';
import { type Broker, connectBroker, DONE, type Handler, type Log } from '@dueline/mq';
import type { Plan } from './plan.ts';

/** What was done to messages. */
interface MessageCounts {
  lost: number;
  duplicated: number;
}

/** Stands between publishers and consumers, and publishes what was published before. */
export interface Meddler {
  readonly counts: MessageCounts;
  /** Publishes tickets of these rows once more, under the fence that they have now or one that they had. */
  repeat(
    db: Db,
    tenant: Tenant,
    repeat: { ids: readonly string[] } & Pick<Plan['repeats'][number], 'age' | 'of'>,
  ): Promise<void>;
  /** Lets everything pass from now on. */
  stop(): Promise<void>;
}

const QUEUES: readonly Queue<Tickets>[] = [scheduledActionFire, scheduledActionFireNow, actionExecute, campaignClick];
const quiet: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * One more consumer of each queue: of what the broker gives it, some is lost and some published twice, evenly over the run; the rest is
 * published once more as it was.
 */
export async function startMeddling(
  { amqpUrl }: Pick<Stack, 'amqpUrl'>,
  { losses, doubles, durationMs }: Pick<Plan, 'losses' | 'doubles' | 'durationMs'>,
): Promise<Meddler> {
  const broker = connectBroker({ url: amqpUrl, appId: 'stress', log: quiet });
  const counts: MessageCounts = { lost: 0, duplicated: 0 };
  const done = { losses: 0, doubles: 0 };
  const begin = performance.now();
  const isBehind = (count: number, total: number): boolean =>
    count < total && count <= (total * (performance.now() - begin)) / durationMs;
  const meddle =
    (queue: Queue<Tickets>): Handler<Tickets> =>
    async ({ tenant, data }) => {
      if (isBehind(done.losses, losses)) {
        done.losses += 1;
        counts.lost += 1;
        return DONE;
      }
      const isDouble = isBehind(done.doubles, doubles);
      if (isDouble) {
        done.doubles += 1;
        counts.duplicated += 1;
      }
      await publish(
        broker,
        queue,
        Array.from({ length: isDouble ? 2 : 1 }, () => ({ tenant, data })),
      );
      return DONE;
    };
  const consumers = QUEUES.map((queue) => broker.consume(queue, meddle(queue), { concurrency: 1 }));
  await broker.ready();
  return {
    counts,
    repeat: async (db, tenant, { ids, age, of }) => {
      const messages = of === 'delivery' ? await ticketsOf(db, of, { ids, age }) : [];
      const isMessage = messages.length > 0; // without one yet, the action's ticket comes again
      const tickets = isMessage ? messages : await ticketsOf(db, 'action', { ids, age });
      await publish(broker, isMessage ? actionExecute : scheduledActionFire, [{ tenant, data: { tickets } }]);
      counts.duplicated += 1;
    },
    stop: async () => {
      await Promise.all(consumers.map((consumer) => consumer.drain()));
      await broker.close();
    },
  };
}

async function publish(
  broker: Broker,
  queue: Queue<Tickets>,
  messages: readonly { tenant: Tenant; data: Tickets }[],
): Promise<void> {
  const results = await broker.publish(queue, messages);
  for (const result of results) if (!result.ok) throw new Error(`a message was not published: ${result.reason}`);
}

async function ticketsOf(
  db: Db,
  of: 'action' | 'delivery',
  { ids, age }: { ids: readonly string[]; age: number },
): Promise<Ticket[]> {
  const rowsOf = {
    action: 'scheduled_action where id = any($1::text[]::bigint[])',
    delivery: "delivery where kind = 'action' and logical_id = any($1::text[])",
  };
  const { rows } = await db.$client.query<Ticket>(
    `select id::text, greatest(0, fence - $2)::text as fence from ${rowsOf[of]} order by id`,
    [ids, age],
  );
  return rows;
}

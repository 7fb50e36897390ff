import { expect, test } from 'vitest';
import { type Broker, DONE, TICK } from '../src/index.ts';
import { minuteQueue, TEST_QUEUES } from './queues.ts';
import { operator, setUp, takeFrom, until } from './support.ts';

const queues = [...TEST_QUEUES, minuteQueue];

/** Takes every tick. @returns How many so far. */
function countTicks(broker: Broker): () => number {
  let handled = 0;
  broker.consume(
    minuteQueue,
    async () => {
      handled += 1;
      return DONE;
    },
    { concurrency: 1 },
  );
  return () => handled;
}

test('a tick is a message of zero bytes, and its handler is called for it', async () => {
  const { vhost, broker } = await setUp({ queues });
  expect(await broker.publish(minuteQueue, [TICK])).toEqual([{ ok: true }]);
  expect((await takeFrom(await operator(vhost), 'minute')).content).toHaveLength(0);

  const handled = countTicks(broker);
  await broker.publish(minuteQueue, [TICK]);
  await until(() => handled() === 1);
});

test('ticks that nobody took do not pile up: the newest one waits', async () => {
  const { vhost, broker } = await setUp({ queues });
  for (let tick = 0; tick < 5; tick += 1) await broker.publish(minuteQueue, [TICK]);
  const channel = await (await operator(vhost)).createChannel();
  expect((await channel.checkQueue('minute')).messageCount).toBe(1);
});

test.for([
  ['a body', '{}', 0],
  ['a time that no calendar has', '', Number.MAX_SAFE_INTEGER],
] as const)(
  'what is no tick on a queue of ticks, with %s, is dropped, and the next tick is handled [SEM-103]',
  async ([, body, timestamp]) => {
    const { vhost, broker } = await setUp({ queues });
    const channel = await (await operator(vhost)).createConfirmChannel();
    channel.publish('dueline.commands', 'minute', Buffer.from(body), { timestamp });
    await channel.waitForConfirms();
    const handled = countTicks(broker);
    await broker.settled();
    await broker.publish(minuteQueue, [TICK]);
    await until(() => handled() === 1);
  },
);

import { randomBytes } from 'node:crypto';
import { EXCHANGES, QUEUES, ROUTES, type RoutedApp, type Routes } from '@dueline/contracts';
import { type ChannelModel, connect } from 'amqplib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  connectBroker,
  DONE,
  deadLetterQueue,
  grantBrokerUsers,
  permissionsAsDefinitions,
  ROUTED_APPS,
  removeBrokerUsers,
} from '../src/index.ts';
import { createManagement } from '../src/management.ts';
import { type TestVhost, testVhost } from '../src/testing.ts';
import { RETRY_EXCHANGE } from '../src/topology.ts';
import { recordingLog } from './support.ts';

const id = randomBytes(4).toString('hex');
const users = ROUTED_APPS.map((app) => ({ app, user: `test-${id}-${app}`, password: randomBytes(8).toString('hex') }));
let vhost: TestVhost;
const connections = new Map<RoutedApp, ChannelModel>();

const urlOf = (app: RoutedApp): string => {
  const { user = '', password = '' } = users.find((one) => one.app === app) ?? {};
  return Object.assign(new URL(vhost.url), { username: user, password }).href;
};

beforeAll(async () => {
  vhost = await testVhost();
  await grantBrokerUsers(vhost, users);
  await grantBrokerUsers(vhost, users); // as a second run does
  for (const app of ROUTED_APPS) {
    const connection = await connect(urlOf(app));
    connection.on('error', () => undefined);
    connections.set(app, connection);
  }
});
afterAll(async () => {
  await Promise.all([...connections.values()].map((connection) => connection.close()));
  await removeBrokerUsers(
    vhost,
    users.map(({ user }) => user),
  );
  await vhost[Symbol.asyncDispose]();
});

type Attempt = (channel: Awaited<ReturnType<ChannelModel['createConfirmChannel']>>) => Promise<unknown>;

/** What the broker made of it, on a channel of its own: done, or the code with which it closed the channel. */
async function outcomeOf(app: RoutedApp, attempt: Attempt): Promise<'done' | number> {
  const channel = await connections.get(app)?.createConfirmChannel();
  if (channel === undefined) throw new Error(`${app} is not connected`);
  const refused = new Promise<number>((resolve) => {
    channel.on('error', ({ code }: { code: number }) => resolve(code));
  });
  const done = attempt(channel).then(
    async () => {
      await channel.waitForConfirms();
      await channel.close();
      return 'done' as const;
    },
    () => refused,
  );
  return Promise.race([done, refused]);
}

const publish =
  (exchange: string, key: string): Attempt =>
  async (channel) => {
    channel.publish(exchange, key, Buffer.alloc(0), { expiration: '0' });
    await channel.waitForConfirms();
  };
const consume =
  (queue: string): Attempt =>
  async (channel) =>
    channel.cancel((await channel.consume(queue, () => undefined)).consumerTag);

test.for(ROUTED_APPS)(
  '%s publishes to its queues and consumes its queues, and every other one is refused',
  async (app) => {
    const { publishes, consumes }: Routes = ROUTES[app];
    for (const queue of QUEUES) {
      const may = { publish: publishes.includes(queue), consume: consumes.includes(queue) };
      expect([queue.name, await outcomeOf(app, publish(queue.exchange, queue.name))]).toEqual([
        queue.name,
        may.publish ? 'done' : 403,
      ]);
      expect([queue.name, await outcomeOf(app, consume(queue.name))]).toEqual([queue.name, may.consume ? 'done' : 403]);
    }
  },
);

const REFUSED: readonly (readonly [string, Attempt])[] = [
  ['make a queue', (channel) => channel.assertQueue('stolen')],
  ['make an exchange', (channel) => channel.assertExchange('stolen', 'topic')],
  ['bind a queue to what others say', (channel) => channel.bindQueue('action_execute', EXCHANGES.events, '#')],
  ['unbind a queue', (channel) => channel.unbindQueue('action_execute', EXCHANGES.commands, 'action_execute')],
  ['delete a queue', (channel) => channel.deleteQueue('scheduled_action_fire')],
  ['delete an exchange', (channel) => channel.deleteExchange(EXCHANGES.commands)],
  ['empty the dead letters', (channel) => channel.purgeQueue(deadLetterQueue('action_execute'))],
  ['read the dead letters', (channel) => channel.get(deadLetterQueue('action_execute'))],
  ['write dead letters', publish(EXCHANGES.deadLetters, 'action_execute')],
  ['write past the exchanges', publish('', 'action_execute')],
];

test.for(REFUSED)('no app may %s', async ([, attempt]) => {
  for (const app of ROUTED_APPS) expect([app, await outcomeOf(app, attempt)]).toEqual([app, 403]);
});

test('who consumes work may keep back what is too new for it, and nobody else', async () => {
  const outcomes = [];
  for (const app of ROUTED_APPS) outcomes.push([app, await outcomeOf(app, publish(RETRY_EXCHANGE, 'x'))]);
  expect(outcomes).toEqual([
    ['pg-listener', 403],
    ['trigger-worker', 'done'],
    ['cron-scheduler', 403],
    ['campaign-dispatcher', 403],
    ['line-delivery', 'done'],
  ]);
});

test.for(ROUTED_APPS)(
  '%s is ready with its permissions alone: it sees that the topology is there, and what waits',
  async (app) => {
    const { log, lines } = recordingLog();
    const broker = connectBroker({ url: urlOf(app), appId: app, log });
    const { consumes }: Routes = ROUTES[app];
    for (const queue of consumes) broker.consume(queue, async () => DONE, { concurrency: 1 });
    try {
      await broker.ready();
      for (const queue of QUEUES) expect(await broker.waiting(queue)).toBeTypeOf('number');
      expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    } finally {
      await broker.close();
    }
  },
);

test('the definitions for a broker say the same as what was granted', async () => {
  const management = createManagement({ url: vhost.url, managementUrl: vhost.managementUrl });
  const userOf = (app: RoutedApp) => users.find((one) => one.app === app)?.user ?? '';
  const ours = (row: { user: string }) => users.some(({ user }) => user === row.user);
  const sorted = (rows: unknown) =>
    (rows as { user: string }[])
      .filter(ours)
      .map((row) => JSON.stringify(Object.entries(row).sort()))
      .sort();
  const wanted = permissionsAsDefinitions(management.vhost, userOf);
  expect(sorted(await management.get(['vhosts', management.vhost, 'permissions']))).toEqual(sorted(wanted.permissions));
  expect(sorted(await management.get(['vhosts', management.vhost, 'topic-permissions']))).toEqual(
    sorted(wanted.topic_permissions),
  );
});

import { createServer } from 'node:net';
import { type Listener, listen } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';

let own: TestDb;
let open: Listener[];
beforeEach(async () => {
  own = await testDb();
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((listener) => listener.close()));
  await own[Symbol.asyncDispose]();
});

const CHANNEL = 'event_outbox';

function start(url = own.url, channel = CHANNEL) {
  const heard: string[] = [];
  const lost: unknown[] = [];
  const listener = listen({
    url,
    channels: [channel],
    onWake: (source) => heard.push(source),
    onLost: (error) => lost.push(error),
  });
  open.push(listener);
  return { listener, heard, lost };
}

const backend = async (): Promise<number> => {
  const found = await columnOf(
    own.db,
    'select pid from pg_stat_activity where application_name = $1 and datname = current_database()',
    [`listen ${CHANNEL}`],
  );
  expect(found).toHaveLength(1);
  return Number(found[0]);
};

/** Milliseconds that closing took. */
async function closing(listener: Listener): Promise<number> {
  const started = performance.now();
  await listener.close();
  return performance.now() - started;
}

test('says connected once, wakes for each notification, and nothing after it was closed', async () => {
  const { listener, heard, lost } = start();
  await vi.waitFor(() => expect(heard).toEqual(['connected']), 15_000);
  expect(listener.connected()).toBe(true);
  await own.db.$client.query(`notify ${CHANNEL}`);
  await vi.waitFor(() => expect(heard).toEqual(['connected', 'notify']), 15_000);
  expect(await closing(listener)).toBeLessThan(4_000);
  await own.db.$client.query(`notify ${CHANNEL}`);
  expect(heard).toHaveLength(2);
  expect(lost).toEqual([]);
  expect(listener.connected()).toBe(false);
});

test('a terminated connection is told once and made again, and hears what comes then [SEM-086, SEM-087]', async () => {
  const { listener, heard, lost } = start();
  await vi.waitFor(() => expect(heard).toEqual(['connected']), 15_000);
  await own.db.$client.query('select pg_terminate_backend($1)', [await backend()]);
  await vi.waitFor(() => expect(heard).toEqual(['connected', 'connected']), 5_000);
  expect(lost).toHaveLength(1);
  expect(listener.connected()).toBe(true);
  await own.db.$client.query(`notify ${CHANNEL}`);
  await vi.waitFor(() => expect(heard).toEqual(['connected', 'connected', 'notify']), 15_000);
});

const isPrivate = () => ['127.0.0.1', 'localhost'].includes(new URL(inject('postgresUrl')).hostname);

test('a frozen connection is noticed within 8 s, and closing does not wait for it [SEM-085]', async ({ skip }) => {
  if (!isPrivate()) skip('the server is not on this machine');
  const { listener, heard, lost } = start();
  await vi.waitFor(() => expect(heard).toEqual(['connected']), 15_000);
  const frozen = await backend();
  process.kill(frozen, 'SIGSTOP');
  try {
    await vi.waitFor(() => expect(lost).toHaveLength(1), { timeout: 8_500, interval: 50 });
    await vi.waitFor(() => expect(heard).toEqual(['connected', 'connected']), 5_000);
    expect(await closing(listener)).toBeLessThan(4_000);
  } finally {
    process.kill(frozen, 'SIGCONT');
  }
});

test('closing is quick while the connection is frozen and nobody has noticed yet', async ({ skip }) => {
  if (!isPrivate()) skip('the server is not on this machine');
  const { listener, heard } = start();
  await vi.waitFor(() => expect(heard).toEqual(['connected']), 15_000);
  const frozen = await backend();
  process.kill(frozen, 'SIGSTOP');
  try {
    expect(await closing(listener)).toBeLessThan(4_000);
  } finally {
    process.kill(frozen, 'SIGCONT');
  }
});

test('closing is quick before the first answer of a server that never answers', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  try {
    await vi.waitFor(() => expect(silent.address()).not.toBeNull(), 15_000);
    const address = silent.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { listener, heard } = start(`postgres://user:password@127.0.0.1:${port}/nowhere`);
    expect(await closing(listener)).toBeLessThan(4_000);
    expect(heard).toEqual([]);
  } finally {
    silent.close();
  }
});

test.for([
  ['is away', () => start('postgres://user:password@127.0.0.1:1/nowhere')],
  ['refuses to listen, as a standby does,', () => start(own.url, '')], // a name that LISTEN refuses
] as const)('a server that %s is told once, and closing is quick between two tries [SEM-088]', async ([, begin]) => {
  const { listener, heard, lost } = begin();
  await vi.waitFor(() => expect(lost).toHaveLength(1), 15_000);
  await new Promise((resolve) => setTimeout(resolve, 700)); // a few tries more
  expect(lost).toHaveLength(1);
  expect(heard).toEqual([]);
  expect(await closing(listener)).toBeLessThan(4_000);
});

test('closing at once and twice is quick', async () => {
  const { listener } = start();
  expect(await closing(listener)).toBeLessThan(4_000);
  expect(await closing(listener)).toBeLessThan(4_000);
});

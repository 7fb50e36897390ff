import { stopAccount, storeChannelCredentials, unpauseAccount } from '@dueline/accounts';
import { inTransaction } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { announceDeliveries } from '@dueline/deliveries';
import { expect, test } from 'vitest';
import { CHANNEL, planCampaign, planPushes, replicaOf, SECRETS_KEY, type Stage, stageOf } from './guarded-stage.ts';

const V3 = '/oauth2/v3/token';
const V2 = '/v2/oauth/accessToken';
const SECRET = `secret-of-${CHANNEL.channelId}`;
const person = { by: 'mika', reason: null };

type Credentials = Parameters<typeof storeChannelCredentials>[2]['credentials'];
const store = ({ db, tenant }: Stage, credentials: Credentials) =>
  inTransaction(db, (tx) => storeChannelCredentials(tx, tenant, { credentials, secretsKey: SECRETS_KEY, ...person }));
const revoke = ({ simulator }: Stage, max = 1) =>
  simulator.faults.set({ rules: [{ id: 'f', match: { endpoint: 'push' }, max, effect: { type: 'revokeToken' } }] });

test.for([
  ['stateless', V3, 900],
  ['short_lived', V2, 30 * 86_400],
] as const)(
  'when a %s token ends in the middle of a campaign each of four replicas gets one other, and nothing is lost [T16]',
  { timeout: 30_000 },
  async ([kind, path, lifeSeconds]) => {
    await using database = await testDb();
    const stage = await stageOf(database.db);
    await store(stage, { kind, channelSecret: SECRET });
    const replicas = [1, 2, 3, 4].map(() => replicaOf(stage));
    const sendAll = async () => {
      const due = await announceDeliveries(stage.db, { limit: 100, againAfterSeconds: 0 });
      await Promise.all(replicas.map((replica, at) => replica.send(due.filter((_, n) => n % replicas.length === at))));
    };
    await planPushes(stage, 20);
    await sendAll();
    expect([await stage.states(), stage.requests(path).length]).toEqual([['accepted 20'], 4]);

    await stage.pass(lifeSeconds + 1); // by LINE's clock; the processes believe in their tokens
    await planCampaign(stage, 1_250);
    await planPushes(stage, 40);
    await expect
      .poll(
        async () => {
          await sendAll();
          await stage.pass(5);
          return stage.states();
        },
        { timeout: 20_000 },
      )
      .toEqual(['accepted 43']);

    expect([...stage.simulator.ledger.receipts()]).toHaveLength(1_290);
    expect(stage.requests(path)).toHaveLength(8);
    expect(await columnOf(stage.db, 'select status from line_oa')).toEqual(['active']);
    expect([...stage.simulator.ledger.violations()]).toEqual([]);
  },
);

test('a stored token that LINE rejects pauses its account after one reading of the row, and another one that works ends it', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const [one, two] = [replicaOf(stage), replicaOf(stage)];
  await planPushes(stage, 6);
  revoke(stage);

  await Promise.all([one.round(), two.round()]);
  expect([await stage.status(), await stage.states()]).toEqual(['paused_auth', ['planned 6']]);
  expect(await columnOf(stage.db, `select concat_ws(' ', kind, reason_code, status) from attention_item`)).toEqual([
    'account_paused token_refused open',
  ]);
  await one.look();
  expect(await stage.status()).toBe('paused_auth');

  await store(stage, { kind: 'stateless', channelSecret: SECRET });
  await two.look(); // drops the one it held
  await two.look();
  expect(await stage.status()).toBe('active');
  await stage.pass(60);
  await two.round();
  expect(await stage.states()).toEqual(['accepted 6']);
  expect([...stage.simulator.ledger.receipts()]).toHaveLength(6);
});

test('a stored token that somebody replaced meanwhile is read again, and nothing is paused', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planPushes(stage, 8);
  await replica.tokens.get(stage.tenant.lineOaId);
  await store(stage, { kind: 'stateless', channelSecret: SECRET });
  revoke(stage);

  await replica.round();
  await stage.pass(2);
  await replica.round();
  expect([await stage.status(), await stage.states()]).toEqual(['active', ['accepted 8']]);
  expect(stage.requests(V3)).toHaveLength(1);
});

test('an account whose secret LINE does not take is paused before anything is sent', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await store(stage, { kind: 'stateless', channelSecret: 'wrong' });
  await planPushes(stage, 2);

  await replica.round();
  expect([await stage.status(), await stage.states()]).toEqual(['paused_auth', ['planned 2']]);
  expect(stage.requests('/v2/bot/message/push')).toEqual([]);
  const [written] = await columnOf(stage.db, 'select string_agg(detail, $1) from delivery_attempt', [' ']);
  expect(written).not.toContain('wrong');
});

test('an account that LINE forbids to send waits for a person, and nobody was failed', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planPushes(stage, 5);
  stage.simulator.faults.set({
    rules: [{ id: 'f', match: { endpoint: 'push' }, max: 5, effect: { type: 'status', status: 403 } }],
  });

  await replica.round();
  expect([await stage.status(), await stage.states()]).toEqual(['paused_auth', ['planned 5']]);
  await stage.pass(3_600);
  await replica.look();
  expect(await stage.status()).toBe('paused_auth');

  expect(await inTransaction(stage.db, (tx) => unpauseAccount(tx, stage.tenant, person))).toBe(true);
  await replica.round();
  expect(await stage.states()).toEqual(['accepted 5']);
});

test('what LINE says of a stopped account changes nothing of the stop', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planPushes(stage, 1);
  await inTransaction(stage.db, (tx) => stopAccount(tx, { lineOaId: stage.tenant.lineOaId }, person));
  await replica.round();
  await replica.look();
  expect([await stage.states(), stage.requests('/v2/bot/message/push').length]).toEqual([['planned 1'], 0]);
});

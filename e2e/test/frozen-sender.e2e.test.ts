import { createLineOa, createOrganization } from '@dueline/accounts';
import { type Stack, startStack } from '@dueline/demo';
import { type ChannelConfig, nthUserId } from '@dueline/line-simulator';
import { CLEAN, isOver, judgeHistory, type Planned } from '@dueline/stress';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SETTINGS } from './kill/stage.ts';
import { serviceEnvironment } from './support.ts';

const PEOPLE = 5;
/** What LINE does with a second request while one with its key is under way, which it does not document. */
const LINES = [
  ['lets the second wait', 'serialize'],
  ['refuses the second', 'conflict'],
  ['takes both', 'race'],
] as const;
const CHANNELS: readonly ChannelConfig[] = LINES.map(([, sameKeyInFlight], n) => ({
  channelId: String(3_000_000_010 + n),
  channelAccessToken: `frozen-token-${n}`,
  users: [{ prefix: `f${n}`, count: PEOPLE }],
  knobs: { sameKeyInFlight },
}));
/** However slow the machine, the sender is frozen before the answer comes, and the answer comes before its lease is over. */
const ANSWER_MS = 2_000;
const UNHURRIED = { ATTEMPT_DEADLINE_SECONDS: '4', LEASE_MARGIN_SECONDS: '0.1' };

let stack: Stack;
beforeAll(async () => {
  const options = { env: serviceEnvironment(), channels: CHANNELS, tell: () => undefined, appEnv: SETTINGS };
  stack = await startStack(options);
});
afterAll(() => stack?.stop());

/** An account whose people are each told something when their city changes. */
async function openAccount({ channelId, channelAccessToken }: ChannelConfig, users: readonly string[]): Promise<void> {
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: channelId });
  const account = { organizationId, channelId, channelAccessToken, name: 'frozen', timezone: 'Asia/Bangkok' };
  const tenant = await createLineOa(db, { ...account, secretsKey: stack.secretsKey });
  await createRule(db, tenant, {
    name: 'now',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'city' },
    actionType: 'send_message',
    actionConfig: { messages: [{ type: 'text', text: 'hello [[lid:now]]' }] },
  });
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, users],
  );
}

/** LINE keeps the first request under each key of the channel to itself for a while. */
async function slowDown(channelId: string): Promise<void> {
  const effect = { type: 'latency', ms: ANSWER_MS };
  const rule = { id: 'slow', match: { channel: channelId, keyAttempt: [1] }, phase: 'beforeAccept', effect };
  const response = await fetch(`${stack.line.controlUrl}/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ rules: [rule] }),
  });
  expect(response.status).toBe(200);
}

async function requestsOf(channelId: string): Promise<number> {
  const response = await fetch(`${stack.line.controlUrl}/ledger/requests?channel=${channelId}`);
  return (await response.text()).split('\n').filter((line) => line !== '').length;
}

const ofUsers = async (users: readonly string[]) =>
  (await stack.line.receiptsSince(0)).filter(({ user }) => users.includes(user));

test.for(LINES)(
  'a sender frozen while it waits for the answer of a LINE that %s, replaced after its lease, and back: each message arrives once [T08]',
  async ([, knob]) => {
    const at = LINES.findIndex(([, other]) => other === knob);
    const channel = CHANNELS[at];
    if (channel === undefined) throw new Error(`there is no channel for ${knob}`);
    const users = Array.from({ length: PEOPLE }, (_, n) => nthUserId(`f${at}`, n));
    const planned: Planned[] = users.map((user) => ({ user, lid: 'now' }));
    await openAccount(channel, users);
    await slowDown(channel.channelId);
    await stack.apps.get('line-delivery')?.stop();
    const frozen = await stack.restart('line-delivery', { ...UNHURRIED, INSTANCE_NAME: `${knob}-1` });

    const { $client } = stack.database.db;
    await $client.query(`update line_user set attributes = '{"city": "Oslo"}' where user_id = any($1)`, [users]);
    await expect.poll(() => requestsOf(channel.channelId), { timeout: 45_000, interval: 20 }).toBe(PEOPLE);
    frozen.child.kill('SIGSTOP');
    expect(await ofUsers(users)).toEqual([]);
    await stack.restart('line-delivery', { INSTANCE_NAME: `${knob}-2` });
    const isDone = async () => isOver(stack, { planned, receipts: await ofUsers(users) });
    await expect.poll(isDone, { timeout: 45_000 }).toBe(true);
    frozen.child.kill('SIGCONT');
    await frozen.stop();

    expect(frozen.child.exitCode).toBe(0);
    expect(await judgeHistory(stack, { planned, receipts: await ofUsers(users) })).toEqual(CLEAN);
    const { rows } = await $client.query<{ outcome: string }>(
      `select outcome from delivery_attempt join delivery on delivery.id = delivery_id where user_id = any($1) and attempt_no = 2`,
      [users],
    );
    expect(rows.map(({ outcome }) => outcome)).toEqual(users.map(() => 'already'));
  },
);

import { createSimulator } from '@dueline/line-simulator';
import { expect, onTestFinished, test } from 'vitest';
import { createLineAccountClient } from '../src/index.ts';

const TOKEN = 'token-1';
const CHANNEL = { channelId: '1', channelSecret: 'secret-of-1' };
const messages = [{ type: 'text', text: 'hi' }];

async function start(options: { quota?: { type: 'limited'; value: number } } = {}) {
  const simulator = await createSimulator({ channels: [{ channelId: '1', channelAccessToken: TOKEN, ...options }] });
  const client = createLineAccountClient({ baseUrl: simulator.apiUrl, timeoutMs: 1_000 });
  onTestFinished(async () => {
    client.close();
    await simulator.close();
  });
  return { simulator, client };
}

test('LINE tells the limit of the month and what was used of it', async () => {
  const { simulator, client } = await start({ quota: { type: 'limited', value: 10 } });
  simulator.scenario.consumeOutside('1', 3);
  expect(await client.monthlyQuota(TOKEN)).toEqual({ value: 10, used: 3 });
  simulator.scenario.setQuota('1', { type: 'none' });
  expect(await client.monthlyQuota(TOKEN)).toEqual({ value: null, used: 3 });
  expect(await client.monthlyQuota('other')).toBeUndefined();
});

test('a token that is issued works; one of a wrong secret is not issued', async () => {
  const { client } = await start();
  for (const issue of [client.issueStatelessToken, client.issueShortLivedToken]) {
    const issued = await issue(CHANNEL);
    expect(issued).toMatchObject({ kind: 'issued', expiresInSeconds: expect.any(Number) });
    if (issued.kind === 'issued') expect(await client.tokenWorks(issued.channelAccessToken)).toBe('yes');
    const refused = await issue({ ...CHANNEL, channelSecret: 'wrong-one' });
    expect(refused).toMatchObject({ kind: 'refused' });
    expect(JSON.stringify(refused)).not.toContain('wrong-one');
  }
  expect(await client.tokenWorks('other')).toBe('no');
});

test('content is validated without being sent', async () => {
  const { simulator, client } = await start();
  for (const endpoint of ['push', 'multicast', 'broadcast'] as const) {
    expect(await client.validate(endpoint, { channelAccessToken: TOKEN, messages })).toBe('fine');
    expect(await client.validate(endpoint, { channelAccessToken: TOKEN, messages: [{ type: 'text', text: '' }] })).toBe(
      'bad',
    );
    expect(await client.validate(endpoint, { channelAccessToken: 'other', messages })).toBe('unknown');
  }
  expect([...simulator.ledger.accepts()]).toEqual([]);
});

test.for([
  ['an error', { type: 'status', status: 500 }],
  ['a page of a proxy', { type: 'html' }],
  ['silence', { type: 'hang' }],
  ['a reset', { type: 'reset' }],
  ['another place', { type: 'redirect' }],
] as const)('%s tells nothing', async ([, effect]) => {
  const { simulator, client } = await start();
  const endpoints = ['quota', 'info', 'validate/push', 'token/v3'];
  simulator.faults.set({ rules: endpoints.map((endpoint, at) => ({ id: `f${at}`, match: { endpoint }, effect })) });
  const [quota, works, valid, token] = await Promise.all([
    client.monthlyQuota(TOKEN),
    client.tokenWorks(TOKEN),
    client.validate('push', { channelAccessToken: TOKEN, messages }),
    client.issueStatelessToken(CHANNEL),
  ]);
  expect([quota, works, valid, token.kind]).toEqual([undefined, 'unknown', 'unknown', 'failed']);
});

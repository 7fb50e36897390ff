import { describe, expect, test } from 'vitest';
import type { Simulator } from '../src/index.ts';
import { sign } from '../src/webhooks/webhooks.ts';
import { type Received, receiver } from './receiver.ts';
import { CHANNEL, call, codes, control, key, manualClock, PUSH, start, text, user } from './support.ts';

interface Event {
  readonly type: string;
  readonly timestamp: number;
  readonly replyToken?: string;
  readonly webhookEventId: string;
  readonly source: { readonly userId: string };
  readonly deliveryContext: { readonly isRedelivery: boolean };
}

const SECRET = `secret-of-${CHANNEL}`;
const eventsOf = ({ body }: Received) => (JSON.parse(body) as { events: Event[] }).events;
const reply = (simulator: Simulator, replyToken: unknown) =>
  call(simulator, '/v2/bot/message/reply', { body: { replyToken, messages: [text('[[lid:r]]')] } });

async function stage({ redelivery = false, statusOf = () => 200 }: { redelivery?: boolean; statusOf?: () => number }) {
  const { url, received } = await receiver(statusOf);
  const clock = manualClock();
  const simulator = await start({ webhook: { url: `${url}/hook`, redelivery } }, clock);
  const act = (deed: string, fields: object = {}, n = 0) =>
    control(simulator, `/users/${user(n)}/${deed}`, { channelId: CHANNEL, ...fields });
  return { simulator, clock, received, act };
}

test('a signature is base64 of HMAC-SHA256 over the body, as LINE’s own example has it', () => {
  const body = '{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[]}';
  expect(sign('8c570fa6dd201bb328f1c1eac23a96d8', body)).toBe('GhRKmvmHys4Pi8DxkF4+EayaH0OqtJtaZxgTD9fMDLs=');
});

describe('what a user does', () => {
  test.each([
    ['block', {}, 'blocked', { type: 'unfollow' }],
    ['follow', {}, 'friend', { type: 'follow', follow: { isUnblocked: false }, replyToken: expect.any(String) }],
    ['message', { text: 'hello' }, 'friend', { type: 'message', message: { type: 'text', text: 'hello' } }],
    ['postback', { data: 'a=1' }, 'friend', { type: 'postback', postback: { data: 'a=1' } }],
  ])('%s is told to the webhook, signed', async (deed, fields, state, event) => {
    const { simulator, received, act } = await stage({});
    expect(await act(deed, fields)).toMatchObject({ state, deliveries: [{ status: 200, isRedelivery: false }] });
    const [one] = received;
    expect(one).toMatchObject({ method: 'POST', path: '/hook' });
    expect(one?.headers['x-line-signature']).toBe(sign(SECRET, one?.body ?? ''));
    const { userId } = (await call(simulator, '/v2/bot/info')).body;
    expect(JSON.parse(one?.body ?? '')).toMatchObject({
      destination: userId,
      events: [
        {
          ...event,
          mode: 'active',
          timestamp: Date.parse('2026-12-01T00:00:00.000Z'),
          source: { type: 'user', userId: user(0) },
          webhookEventId: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
          deliveryContext: { isRedelivery: false },
        },
      ],
    });
  });

  test('changes who is a friend; of a deleted account nothing is told, and it does nothing more', async () => {
    const { received, act } = await stage({});
    await act('block');
    expect(await act('message')).toMatchObject({ message: expect.stringContaining('does not reach') });
    expect(await act('unblock')).toMatchObject({ state: 'friend', event: { follow: { isUnblocked: true } } });
    expect(await act('delete')).toEqual({ state: 'deleted', event: null, deliveries: [] });
    expect(await act('follow')).toMatchObject({ message: expect.stringContaining('deleted') });
    expect(received.flatMap(eventsOf).map(({ type }) => type)).toEqual(['unfollow', 'follow']);
  });

  test('is told nobody where there is no webhook, and to nobody off this machine', async () => {
    const simulator = await start();
    const answer = await control(simulator, `/users/${user(0)}/block`, { channelId: CHANNEL });
    expect(answer).toMatchObject({ state: 'blocked', deliveries: [] });
    await expect(start({ webhook: { url: 'https://example.com/hook' } })).rejects.toThrow('on this machine only');
  });

  test('lets a stranger who wrote be pushed to for seven days', async () => {
    const clock = manualClock();
    const simulator = await start({ users: [{ prefix: 'a', count: 1, state: 'stranger' }] }, clock);
    const push = (n: number) =>
      call(simulator, PUSH, { body: { to: user(0), messages: [text('[[lid:x]]')] }, retryKey: key(n) });
    await push(1);
    expect([...simulator.ledger.receipts()]).toHaveLength(0);
    await control(simulator, `/users/${user(0)}/message`, { channelId: CHANNEL });
    await push(2);
    clock.advance(7 * 86_400_000 + 1);
    await push(3);
    expect([...simulator.ledger.receipts()]).toHaveLength(1);
  });
});

describe('a webhook', () => {
  test('can come twice, marked as a redelivery or not, and with a wrong signature or none', async () => {
    const { received, act } = await stage({});
    await act('message', { emit: { times: 2, redeliver: true } });
    const events = received.flatMap(eventsOf);
    expect(new Set(events.map(({ webhookEventId }) => webhookEventId)).size).toBe(1);
    expect(events.map(({ deliveryContext }) => deliveryContext.isRedelivery)).toEqual([false, false, true]);
    await act('message', { emit: { signature: 'wrong' } });
    await act('message', { emit: { signature: 'missing' } });
    const [wrong, missing] = received.slice(3).map(({ headers }) => headers['x-line-signature']);
    expect(wrong).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    expect(wrong).not.toBe(sign(SECRET, received[3]?.body ?? ''));
    expect(missing).toBeUndefined();
  });

  test('can be overtaken by the next one, keep its time, and come late', async () => {
    const { simulator, clock, received, act } = await stage({});
    await act('block', { emit: { hold: true } });
    clock.advance(1_000);
    await act('unblock');
    const [first, second] = received.flatMap(eventsOf);
    expect([first?.type, second?.type]).toEqual(['follow', 'unfollow']);
    expect((first?.timestamp ?? 0) - (second?.timestamp ?? 0)).toBe(1_000);
    await act('message', { emit: { delayMs: 60_000 } });
    expect(received).toHaveLength(2);
    clock.advance(60_000);
    await control(simulator, '/metrics');
    await expect.poll(() => received.length).toBe(3);
  });

  test('can hold nothing, what no client knows, and events of several users', async () => {
    const { received, act } = await stage({});
    await act('message', { emit: { empty: true } });
    await act('message', { emit: { unknownType: true, mixWith: [user(1), user(2)] } });
    const [none, mixed] = received.map(eventsOf);
    expect(none).toEqual([]);
    expect(mixed?.map(({ type }) => type)).toEqual(['unheardOf', 'message', 'message', 'message']);
    expect(mixed?.slice(1).map(({ source }) => source.userId)).toEqual([user(0), user(1), user(2)]);
  });

  test('that fails comes again with a fresh reply token’s life, if the channel has that switched on', async () => {
    let status = 500;
    const { simulator, clock, received, act } = await stage({ redelivery: true, statusOf: () => status });
    expect(await act('message')).toMatchObject({ deliveries: [{ status: 500 }] });
    status = 200;
    clock.advance(60_000);
    await control(simulator, '/metrics');
    await expect.poll(() => received.length).toBe(2);
    const [, again] = received.flatMap(eventsOf);
    expect(again?.deliveryContext.isRedelivery).toBe(true);
    clock.advance(59_000);
    expect((await reply(simulator, again?.replyToken)).status).toBe(200);
    const { webhooks } = (await control(simulator, '/webhooks')) as { webhooks: { status: number }[] };
    expect(webhooks.map((row) => row.status)).toEqual([500, 200]);
  });
});

describe('a reply', () => {
  const tokenOf = (answer: unknown) => (answer as { event: Event }).event.replyToken;

  test('reaches the user once, free of charge, and takes no retry key', async () => {
    const simulator = await start({ quota: { type: 'limited', value: 0 } });
    const token = tokenOf(await control(simulator, `/users/${user(0)}/message`, { channelId: CHANNEL }));
    const answer = await reply(simulator, token);
    expect(answer).toMatchObject({ status: 200, body: { sentMessages: [{ id: expect.stringMatching(/^\d{18}$/) }] } });
    expect(await reply(simulator, token)).toMatchObject({ status: 400, body: { message: 'Invalid reply token' } });
    expect([...simulator.ledger.receipts()]).toMatchObject([{ user: user(0), lid: 'r', retryKey: null }]);
    expect((await call(simulator, '/v2/bot/message/quota/consumption')).body).toEqual({ totalUsage: 0 });
    expect(codes(simulator)).toEqual([]);
    const options = { body: { replyToken: token, messages: [text('x')] }, retryKey: key(1) };
    expect(await call(simulator, '/v2/bot/message/reply', options)).toMatchObject({ status: 400 });
    expect(codes(simulator)).toEqual(['V5']);
  });

  test('is refused a minute after the event, and keeps its token when the messages are refused', async () => {
    const { simulator, clock, act } = await stage({});
    const token = tokenOf(await act('message'));
    const bad = { body: { replyToken: token, messages: [] } };
    expect(await call(simulator, '/v2/bot/message/reply', bad)).toMatchObject({ status: 400 });
    clock.advance(60_000);
    expect((await reply(simulator, token)).status).toBe(200);
    const late = tokenOf(await act('message'));
    clock.advance(60_001);
    expect(await reply(simulator, late)).toMatchObject({ status: 400, body: { message: 'Invalid reply token' } });
    expect(await reply(simulator, undefined)).toMatchObject({
      status: 400,
      body: { details: [{ message: 'May not be empty', property: 'replyToken' }] },
    });
  });
});

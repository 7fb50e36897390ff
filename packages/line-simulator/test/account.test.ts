import { describe, expect, test } from 'vitest';
import { BROADCAST, CHANNEL, call, control, key, MULTICAST, manualClock, PUSH, start, text, user } from './support.ts';

const HOUR_MS = 3_600_000;

describe('sent counts', () => {
  test('are of a day of UTC+9, and ready when it is over', async () => {
    const clock = manualClock('2026-12-01T14:00:00.000Z'); // 23:00 in UTC+9
    const simulator = await start({}, clock);
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(0)] });
    const sent = async (kind: string, date: string) =>
      (await call(simulator, `/v2/bot/message/delivery/${kind}?date=${date}`)).body;
    const messages = [text('[[lid:x]]')];
    await call(simulator, PUSH, { body: { to: user(1), messages }, retryKey: key(1) });
    await call(simulator, PUSH, { body: { to: user(0), messages }, retryKey: key(2) });
    await call(simulator, MULTICAST, { body: { to: [user(0), user(1), user(2)], messages }, retryKey: key(3) });
    clock.advance(2 * HOUR_MS);
    await call(simulator, BROADCAST, { body: { messages }, retryKey: key(4) });
    expect(await sent('push', '20261201')).toEqual({ status: 'ready', success: 1 });
    expect(await sent('multicast', '20261201')).toEqual({ status: 'ready', success: 2 });
    expect(await sent('broadcast', '20261201')).toEqual({ status: 'ready', success: 0 });
    expect(await sent('broadcast', '20261202')).toEqual({ status: 'unready' });
    expect(await sent('reply', '20180330')).toEqual({ status: 'out_of_service' });
    clock.advance(24 * HOUR_MS);
    expect(await sent('broadcast', '20261202')).toEqual({ status: 'ready', success: 9 });
  });

  test.each(['', '?date=', '?date=2026-12-01', '?date=20261301', '?date=20260230'])('need a day: %s', async (query) => {
    expect(await call(await start(), `/v2/bot/message/delivery/push${query}`)).toMatchObject({
      status: 400,
      body: { message: "The value for the 'date' parameter is invalid" },
    });
  });
});

test('the consumption that LINE tells may lag behind', async () => {
  const simulator = await start({ quota: { type: 'limited', value: 10 }, knobs: { consumptionLag: 4 } });
  const usage = async () => (await call(simulator, '/v2/bot/message/quota/consumption')).body.totalUsage;
  const send = (n: number) => {
    const body = { to: [user(0), user(1), user(2)], messages: [text('x')] };
    return call(simulator, MULTICAST, { body, retryKey: key(n) });
  };
  await send(1);
  expect(await usage()).toBe(0);
  await send(2);
  expect(await usage()).toBe(2);
  await send(3);
  expect((await send(4)).status).toBe(429);
});

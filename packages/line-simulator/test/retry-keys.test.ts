import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { FaultRule } from '../src/index.ts';
import { BROADCAST, call, codes, key, MULTICAST, manualClock, PUSH, start, text, user } from './support.ts';

const push = (n = 0) => ({ to: user(n), messages: [text(`hi [[lid:a:${n}:1]]`), text('and')] });

describe('a retry key', () => {
  test('that was accepted answers 409 with the same ids and sends nothing more', async () => {
    const simulator = await start();
    const first = await call(simulator, PUSH, { body: push(), retryKey: key(1) });
    const again = await call(simulator, PUSH, { body: push(), retryKey: key(1) });
    expect(first).toMatchObject({ status: 200, acceptedRequestId: null });
    expect(first.body.sentMessages).toEqual([
      { id: expect.stringMatching(/^\d{18}$/), quoteToken: expect.any(String) },
      { id: expect.stringMatching(/^\d{18}$/), quoteToken: expect.any(String) },
    ]);
    expect(again).toMatchObject({
      status: 409,
      acceptedRequestId: first.requestId,
      body: { message: 'The retry key is already accepted', sentMessages: first.body.sentMessages },
    });
    expect(again.requestId).not.toBe(first.requestId);
    expect([...simulator.ledger.receipts()]).toHaveLength(1);
    expect([...simulator.ledger.requests()].map((row) => [row.keyAttempt, row.status, row.step])).toEqual([
      [1, 200, 'accept'],
      [2, 409, 'keyAccepted'],
    ]);
    expect(codes(simulator)).toEqual([]);
  });

  test('of a multicast answers 409 without message ids', async () => {
    const simulator = await start();
    const body = { to: [user(0)], messages: [text('x')] };
    await call(simulator, MULTICAST, { body, retryKey: key(1) });
    const again = await call(simulator, MULTICAST, { body, retryKey: key(1).toUpperCase() });
    expect(again).toMatchObject({ status: 409, body: { message: 'The retry key is already accepted' } });
    expect(again.body).not.toHaveProperty('sentMessages');
  });

  test('of a refused request stays free', async () => {
    const simulator = await start();
    await call(simulator, PUSH, { body: { ...push(), messages: [] }, retryKey: key(1) });
    expect(await call(simulator, PUSH, { body: push(), retryKey: key(1) })).toMatchObject({ status: 200 });
    expect(codes(simulator)).toEqual(['V2']);
  });

  test('with another body or endpoint answers 409, and with another channel is new; each is V2', async () => {
    const simulator = await start();
    await call(simulator, PUSH, { body: push(0), retryKey: key(1) });
    expect(await call(simulator, PUSH, { body: push(1), retryKey: key(1) })).toMatchObject({ status: 409 });
    expect(await call(simulator, BROADCAST, { body: { messages: [text('x')] }, retryKey: key(1) })).toMatchObject({
      status: 409,
    });
    await fetch(`${simulator.controlUrl}/__sim/channels`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        channels: [{ channelId: '2', channelAccessToken: 'token-2', users: [{ prefix: 'a', count: 1 }] }],
      }),
    });
    expect(await call(simulator, PUSH, { body: push(), retryKey: key(1), token: 'token-2' })).toMatchObject({
      status: 200,
    });
    const rows = [...simulator.ledger.violations()];
    expect(rows.map((row) => [row.code, row.detail])).toEqual([
      ['V2', 'other body'],
      ['V2', 'other endpoint'],
      ['V2', 'other channel'],
    ]);
    expect(rows[0]).toMatchObject({ channelId: '2000000001', retryKey: key(1), requestSeq: 2 });
  });

  test('used after its 24 hours sends again, and is V4', async () => {
    const clock = manualClock();
    const simulator = await start({}, clock);
    await call(simulator, PUSH, { body: push(), retryKey: key(1) });
    clock.advance(86_400_000 - 1);
    expect(await call(simulator, PUSH, { body: push(), retryKey: key(1) })).toMatchObject({ status: 409 });
    clock.advance(1);
    expect(await call(simulator, PUSH, { body: push(), retryKey: key(1) })).toMatchObject({ status: 200 });
    expect(codes(simulator)).toEqual(['V4']);
    expect(simulator.ledger.summary()).toMatchObject([{ lid: 'a:0:1', receipts: 2, maxPerUser: 2 }]);
  });

  test('that is missing is V1, and on an endpoint that forbids it 400 and V5', async () => {
    const simulator = await start({ richMenuIds: ['richmenu-1'] });
    expect(await call(simulator, PUSH, { body: push() })).toMatchObject({ status: 200 });
    const link = `/v2/bot/user/${user(0)}/richmenu/richmenu-1`;
    expect(await call(simulator, link, { method: 'POST', retryKey: key(1) })).toMatchObject({ status: 400 });
    expect(await call(simulator, `/v2/bot/user/${user(0)}/richmenu`)).toMatchObject({ status: 404 });
    expect(codes(simulator)).toEqual(['V1', 'V5']);
  });

  test('in flight twice is V3, and the second waits for the first', async () => {
    const simulator = await start();
    const body = JSON.stringify(push());
    const { port } = new URL(simulator.apiUrl);
    const socket = connect(Number(port), '127.0.0.1');
    const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
    socket.write(
      `POST ${PUSH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-1\r\ncontent-type: application/json\r\n` +
        `x-line-retry-key: ${key(1)}\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    await expect.poll(() => [...simulator.ledger.requests()].length).toBe(1);
    const second = call(simulator, PUSH, { body: push(), retryKey: key(1) });
    await expect.poll(() => codes(simulator)).toEqual(['V3']);
    socket.write(body.slice(5));
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(await second).toMatchObject({ status: 409 });
    socket.destroy();
  });

  const OVERLAPS = [
    ['waits, and is then answered as one that was accepted', 'serialize', { status: 409 }, 1],
    ['is answered 409 that names no accepted request', 'conflict', { status: 409, acceptedRequestId: null }, 1],
    ['is accepted as well', 'race', { status: 200 }, 2],
  ] as const;

  test.for(OVERLAPS)('in flight twice is V3, and the second %s, if the channel says %s', async (given) => {
    const [, sameKeyInFlight, second, receipts] = given;
    const simulator = await start({ knobs: { sameKeyInFlight } });
    const late: FaultRule = { id: 'late', match: { nth: [1] }, effect: { type: 'lateAccept', ms: 300 } };
    simulator.faults.set({ rules: [late] });
    const first = call(simulator, PUSH, { body: push(), retryKey: key(1) });
    await expect.poll(() => [...simulator.ledger.requests()].length).toBe(1);
    expect(await call(simulator, PUSH, { body: push(), retryKey: key(1) })).toMatchObject(second);
    expect(await first).toMatchObject({ status: 200 });
    expect(simulator.ledger.summary()).toMatchObject([{ lid: 'a:0:1', receipts }]);
    expect(codes(simulator)).toEqual(['V3']);
    const after = await call(simulator, PUSH, { body: push(), retryKey: key(1) });
    expect(after).toMatchObject({ status: 409, acceptedRequestId: expect.any(String) });
  });

  test('of a client that goes away with half its request sent is free for the next', async () => {
    const simulator = await start();
    const socket = connect(Number(new URL(simulator.apiUrl).port), '127.0.0.1');
    socket.write(
      `POST ${PUSH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-1\r\ncontent-type: application/json\r\n` +
        `x-line-retry-key: ${key(1)}\r\ncontent-length: 99\r\n\r\n{`,
    );
    await expect.poll(() => [...simulator.ledger.requests()].length).toBe(1);
    const second = call(simulator, PUSH, { body: push(), retryKey: key(1) });
    await expect.poll(() => [...simulator.ledger.requests()].length).toBe(2);
    socket.destroy();
    expect(await second).toMatchObject({ status: 200 });
    expect([...simulator.ledger.requests()].map((row) => row.status)).toEqual(['none', 200]);
  });
});

test('the order of the undocumented checks is a knob', async () => {
  const order = ['validation', 'keyAccepted', 'keySyntax', 'rateLimit'] as const;
  const simulator = await start({ knobs: { order: [...order] } });
  await call(simulator, PUSH, { body: push(), retryKey: key(1) });
  const broken = { body: { ...push(), messages: [] }, retryKey: key(1) };
  expect(await call(simulator, PUSH, broken)).toMatchObject({ status: 400 });
});

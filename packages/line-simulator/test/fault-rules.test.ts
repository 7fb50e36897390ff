import { describe, expect, test } from 'vitest';
import type { FaultRule, FaultRules } from '../src/index.ts';
import { attempt, only, push } from './fault-support.ts';
import {
  BROADCAST,
  CHANNEL,
  call,
  codes,
  control,
  key,
  MULTICAST,
  manualClock,
  PUSH,
  start,
  text,
  user,
} from './support.ts';

const FAIL = { type: 'status', status: 500 } as const;

/** Whether each of so many pushes, one after the other, met a fault. */
async function pattern(rules: FaultRules, count: number): Promise<string> {
  const simulator = await start();
  simulator.faults.set(rules);
  let seen = '';
  for (let n = 0; n < count; n += 1) {
    const { status } = await call(simulator, PUSH, { body: push(n % 10), retryKey: key(n) });
    seen += status === 200 ? '.' : 'x';
  }
  return seen;
}

describe('a rule', () => {
  test.each<[string, Omit<FaultRule, 'id' | 'effect'>, string]>([
    ['without a match', {}, 'xxxxxxxx'],
    ['of another endpoint', { match: { endpoint: 'multicast' } }, '........'],
    ['of another channel', { match: { channel: 'x' } }, '........'],
    ['of its channel and endpoint', { match: { channel: CHANNEL, endpoint: 'push' } }, 'xxxxxxxx'],
    ['of the 2nd and 5th', { match: { nth: [2, 5] } }, '.x..x...'],
    ['of every 3rd', { match: { everyNth: 3 } }, '..x..x..'],
    ['with a most', { max: 2 }, 'xx......'],
    ['of a text', { match: { bodyContains: 'lid:a:3:' } }, '...x....'],
    ['of a second attempt', { match: { keyAttempt: [2] } }, '........'],
    ['with a burst of three', { match: { nth: [2] }, burst: { count: 3 } }, '.xxx....'],
    ['with two bursts at most', { match: { everyNth: 2 }, burst: { count: 2 }, max: 2 }, '.xx.xx..'],
    [
      'with everything neutral',
      {
        match: { nth: [], everyNth: 0, probability: 0, keyAttempt: [], bodyContains: '', afterMs: 0, untilMs: 0 },
      },
      'xxxxxxxx',
    ],
  ])('%s meets the requests that it names', { timeout: 30_000 }, async (_name, rule, expected) => {
    expect(await pattern(only({ ...rule, effect: FAIL }), 8)).toBe(expected);
  });

  test('holds in its span, and a burst for its time, by the clock of LINE', async () => {
    const clock = manualClock();
    const simulator = await start({}, clock);
    const status = async () => (await call(simulator, '/v2/bot/info')).status;
    const at = async (ms: number) => {
      clock.advance(ms);
      return status();
    };
    simulator.faults.set(only({ match: { afterMs: 10, untilMs: 20 }, effect: FAIL }));
    expect([await at(9), await at(1), await at(9), await at(1)]).toEqual([200, 500, 500, 200]);
    simulator.faults.set(only({ match: { nth: [1] }, burst: { ms: 10 }, effect: FAIL }));
    expect([await at(0), await at(9), await at(1)]).toEqual([500, 500, 200]);
  });

  test('that comes first wins, and each counts what it met', async () => {
    const simulator = await start();
    simulator.faults.set({
      rules: [
        { id: 'first', max: 1, effect: { type: 'status', status: 503 } },
        { id: 'second', effect: FAIL },
      ],
    });
    const statuses = [(await attempt(simulator)).status, (await attempt(simulator)).status];
    expect(statuses).toEqual([503, 500]);
    expect(await control(simulator, '/faults')).toMatchObject({
      seed: 1,
      rules: [
        { id: 'first', phase: 'beforeAccept', hits: 1 },
        { id: 'second', seen: 1, hits: 1 },
      ],
    });
  });

  test.each<[string, object, string]>([
    ['an effect of no name', { id: 'f1', effect: { type: 'explode' } }, 'rule f1: effect.type'],
    ['no id', { effect: FAIL }, 'rule 1: id'],
    ['a misspelt field', { id: 'f1', match: { endpont: 'push' }, effect: FAIL }, 'rule f1: match: '],
    ['a place below 1', { id: 'f1', match: { nth: [0] }, effect: FAIL }, 'rule f1: match.nth.0'],
    ['no such operation', { id: 'f1', match: { endpoint: 'pusch' }, effect: FAIL }, 'rule f1: match.endpoint'],
    ['a phase it cannot have', { id: 'f1', phase: 'beforeAuth', effect: { type: 'truncate' } }, 'rule f1: phase'],
    [
      'a 4xx of what was accepted',
      { id: 'f1', phase: 'afterAccept', effect: { type: 'status', status: 400 } },
      'rule f1: phase',
    ],
    ['a latency of no time', { id: 'f1', effect: { type: 'latency' } }, 'rule f1: effect'],
    ['both kinds of burst', { id: 'f1', burst: { count: 1, ms: 1 }, effect: FAIL }, 'rule f1: burst'],
  ])('with %s is refused by name and field, and the rules before stay', async (_name, rule, named) => {
    const simulator = await start();
    simulator.faults.set(only({ effect: FAIL }));
    expect(await control(simulator, '/faults', { rules: [rule] })).toEqual({ message: expect.stringContaining(named) });
    expect(simulator.faults.hits().rules).toMatchObject([{ id: 'f' }]);
  });
});

test('the same seed decides the same, another seed otherwise, whatever other rules draw', {
  timeout: 30_000,
}, async () => {
  const drawn = only({ match: { probability: 0.5 }, effect: FAIL });
  const first = await pattern({ seed: 7, ...drawn }, 16);
  expect(first).toMatch(/^(?=.*x)(?=.*\.)/);
  expect(await pattern({ seed: 7, ...drawn }, 16)).toBe(first);
  expect(await pattern({ seed: 8, ...drawn }, 16)).not.toBe(first);
  const beside: FaultRule = { id: 'g', match: { endpoint: 'multicast', probability: 0.3 }, effect: FAIL };
  expect(await pattern({ seed: 7, rules: [beside, ...drawn.rules] }, 16)).toBe(first);
});

test('the control API sets, reads and ends faults; a reset ends them too', async () => {
  const simulator = await start();
  const rules = { seed: 3, rules: [{ id: 'f', effect: FAIL }] };
  expect(await control(simulator, '/faults', rules)).toMatchObject({ seed: 3, rules: [{ id: 'f', hits: 0 }] });
  expect(await attempt(simulator)).toMatchObject({ status: 500 });
  expect([...simulator.ledger.requests()]).toMatchObject([{ faultId: 'f', step: 'fault', status: 500 }]);
  await fetch(`${simulator.controlUrl}/__sim/faults`, { method: 'DELETE' });
  expect(await attempt(simulator)).toMatchObject({ status: 200 });
  await control(simulator, '/faults', rules);
  await control(simulator, '/reset', {});
  expect(await attempt(simulator)).toMatchObject({ status: 200 });
});

test('the control API moves the quota, the pause and the listener', async () => {
  const simulator = await start({ quota: { type: 'limited', value: 10 } });
  const used = async () => (await call(simulator, '/v2/bot/message/quota/consumption')).body.totalUsage;
  await control(simulator, '/quota', { channelId: CHANNEL, quota: { type: 'limited', value: 4 } });
  await control(simulator, '/quota/consume', { channelId: CHANNEL, count: 3 });
  expect(await used()).toBe(3);
  await control(simulator, '/quota/reserve', { channelId: CHANNEL, count: 1, ms: 60_000 });
  expect(await attempt(simulator)).toMatchObject({ status: 429 });
  await control(simulator, '/listener', { state: 'down' });
  expect(await attempt(simulator)).toEqual({ failure: 'ECONNREFUSED' });
  await control(simulator, '/listener', { state: 'up' });
  expect(await used()).toBe(3);
  expect(await control(simulator, '/paused', { channelId: 'x' })).toEqual({
    message: expect.stringContaining('no such channel'),
  });
});

test('a send that begins after the pause was acknowledged is V8; one that had begun may finish', async () => {
  const simulator = await start();
  simulator.faults.set(only({ match: { keyAttempt: [1], bodyContains: 'lid:a:0:' }, effect: FAIL }));
  const send = (n: number) => attempt(simulator, { retryKey: key(n), body: push(n) });
  await send(0);
  await control(simulator, '/paused', { channelId: CHANNEL });
  expect(await send(0)).toMatchObject({ status: 200 });
  expect(codes(simulator)).toEqual([]);
  expect(await send(1)).toMatchObject({ status: 200 });
  expect([...simulator.ledger.violations()]).toMatchObject([{ code: 'V8', retryKey: key(1), channelId: CHANNEL }]);
  await control(simulator, '/resumed', { channelId: CHANNEL });
  await send(2);
  expect(codes(simulator)).toEqual(['V8']);
});

test('a client that goes on against the rate limit is V6, once for so many refusals; one that a fault throttles is not', async () => {
  const clock = manualClock();
  const knobs = { limits: { broadcast: { count: 1, perMs: 3_600_000 } }, tolerated429: { count: 3, perMs: 60_000 } };
  const simulator = await start({ knobs }, clock);
  const broadcast = () => call(simulator, BROADCAST, { body: { messages: [text('x')] }, retryKey: key(1) });
  for (let n = 0; n < 4; n += 1) await broadcast();
  expect(codes(simulator)).toEqual([]);
  await broadcast();
  expect(codes(simulator)).toEqual(['V6']);
  for (let n = 0; n < 3; n += 1) await broadcast();
  expect(codes(simulator)).toEqual(['V6']);
  clock.advance(60_000);
  for (let n = 0; n < 3; n += 1) await broadcast();
  expect(codes(simulator)).toEqual(['V6']);
  simulator.faults.set(only({ match: { endpoint: 'multicast' }, effect: { type: 'rateLimit' } }));
  for (let n = 0; n < 9; n += 1) {
    await call(simulator, MULTICAST, { body: { to: [user(0)], messages: [text('x')] }, retryKey: key(2) });
  }
  expect(codes(simulator)).toEqual(['V6']);
});

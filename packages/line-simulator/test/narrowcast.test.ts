import { describe, expect, test } from 'vitest';
import type { ChannelConfig } from '../src/index.ts';
import { CHANNEL, call, codes, control, key, MULTICAST, manualClock, start, text, user } from './support.ts';

const NARROWCAST = '/v2/bot/message/narrowcast';
const UPLOAD = '/v2/bot/audienceGroup/upload';
const ids = (...numbers: number[]) => numbers.map((n) => ({ id: user(n) }));

async function stage(channel: Partial<ChannelConfig> = {}) {
  const clock = manualClock();
  const simulator = await start(channel, clock);
  const narrowcast = (fields: object = {}, n = 1) =>
    call(simulator, NARROWCAST, { body: { messages: [text('[[lid:n]]')], ...fields }, retryKey: key(n) });
  const progress = async (requestId: string | null) =>
    (await call(simulator, `/v2/bot/message/progress/narrowcast?requestId=${requestId}`)).body;
  const audience = async (...members: number[]) => {
    const { body } = await call(simulator, UPLOAD, { body: { description: 'a', audiences: ids(...members) } });
    clock.advance(10_000);
    return { type: 'audience', audienceGroupId: body.audienceGroupId };
  };
  const received = () => [...simulator.ledger.receipts()].map((row) => row.user);
  return { clock, simulator, narrowcast, progress, audience, received };
}

describe('a narrowcast', () => {
  test('is accepted, waits, is sent to the friends of then, and succeeds', async () => {
    const { clock, simulator, narrowcast, progress, received } = await stage();
    const { status, body, requestId } = await narrowcast();
    expect([status, body]).toEqual([202, {}]);
    expect(await progress(requestId)).toEqual({ phase: 'waiting', acceptedTime: '2026-12-01T00:00:00.000Z' });
    expect(await narrowcast()).toMatchObject({ status: 409, acceptedRequestId: requestId });
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(3)] });
    expect(received()).toEqual([]);
    clock.advance(5_000);
    expect(await progress(requestId)).toMatchObject({ phase: 'sending', targetCount: 9 });
    expect(received()).toHaveLength(9);
    clock.advance(5_000);
    expect(await progress(requestId)).toEqual({
      phase: 'succeeded',
      acceptedTime: '2026-12-01T00:00:00.000Z',
      completedTime: '2026-12-01T00:00:10.000Z',
      targetCount: 9,
      successCount: 9,
      failureCount: 0,
    });
    expect([...simulator.ledger.accepts()]).toMatchObject([{ delivered: 9, lids: ['n'] }]);
    expect((await call(simulator, '/v2/bot/message/quota/consumption')).body).toEqual({ totalUsage: 9 });
    expect(codes(simulator)).toEqual([]);
  });

  test('reserves the whole reach until it is sent, so that others are refused meanwhile', async () => {
    const { clock, simulator, narrowcast, audience } = await stage({ quota: { type: 'limited', value: 10 } });
    const recipient = await audience(1, 2);
    const send = (n: number) =>
      call(simulator, MULTICAST, { body: { to: [user(0)], messages: [text('x')] }, retryKey: key(n) });
    expect(await narrowcast({ recipient })).toMatchObject({ status: 202 });
    expect(await send(2)).toMatchObject({ status: 429, body: { message: 'You have reached your monthly limit.' } });
    expect((await call(simulator, '/v2/bot/message/quota/consumption')).body).toEqual({ totalUsage: 0 });
    clock.advance(5_000);
    expect(await send(2)).toMatchObject({ status: 200 });
    expect((await call(simulator, '/v2/bot/message/quota/consumption')).body).toEqual({ totalUsage: 3 });
    expect(await narrowcast({}, 3)).toMatchObject({ status: 429 });
    expect(await narrowcast({ limit: { max: 7 } }, 3)).toMatchObject({ status: 202 });
  });

  test('goes to whom its recipient names', async () => {
    const { clock, narrowcast, audience, received } = await stage();
    const [low, high] = [await audience(0, 1, 2), await audience(2, 3)];
    const cases: [recipient: unknown, users: number[]][] = [
      [low, [0, 1, 2]],
      [{ type: 'operator', and: [low, high] }, [2]],
      [{ type: 'operator', or: [low, high] }, [0, 1, 2, 3]],
      [{ type: 'operator', and: [low, { type: 'operator', not: high }] }, [0, 1]],
    ];
    let before = 0;
    for (const [index, [recipient, users]] of cases.entries()) {
      const { requestId } = await narrowcast({ recipient }, index + 1);
      clock.advance(5_000);
      expect(received().slice(before)).toEqual(users.map(user));
      before = received().length;
      if (index > 0) continue;
      await narrowcast({ recipient: { type: 'redelivery', requestId }, limit: { max: 2 } }, 9);
      clock.advance(5_000);
      expect(received().slice(before)).toEqual([user(0), user(1)]);
      before = received().length;
    }
  });

  test('by attributes fails where fewer than fifty are reached, and reaches nobody', async () => {
    const { clock, narrowcast, progress, received } = await stage();
    const filter = { demographic: { type: 'gender', oneOf: ['male'] } };
    const { requestId } = await narrowcast({ filter });
    clock.advance(5_000);
    expect(await progress(requestId)).toMatchObject({ phase: 'failed', errorCode: 2 });
    expect(received()).toEqual([]);
  });

  test.each([
    [{ type: 'audience', audienceGroupId: 1 }],
    [{ type: 'redelivery', requestId: 'x' }],
    [{ type: 'operator', and: [] }],
    [{ type: 'nobody' }],
    ['everyone'],
  ])('is refused for the recipient %j', async (recipient) => {
    const { narrowcast } = await stage();
    expect(await narrowcast({ recipient })).toMatchObject({ status: 400 });
  });

  test('that nobody sent has no progress', async () => {
    const { simulator } = await stage();
    const path = '/v2/bot/message/progress/narrowcast?requestId=x';
    expect(await call(simulator, path)).toMatchObject({ status: 404 });
  });
});

describe('an audience', () => {
  const read = (simulator: Awaited<ReturnType<typeof start>>, id: unknown) =>
    call(simulator, `/v2/bot/audienceGroup/${String(id)}`);

  test('is made, grows by jobs, and is ready later', async () => {
    const { clock, simulator } = await stage();
    const made = await call(simulator, UPLOAD, { body: { description: 'name', audiences: ids(0, 1) } });
    expect(made).toMatchObject({
      status: 202,
      body: { type: 'UPLOAD', description: 'name', permission: 'READ_WRITE' },
    });
    const { audienceGroupId } = made.body;
    const data = async () => (await read(simulator, audienceGroupId)).body;
    expect(await data()).toMatchObject({ audienceGroup: { status: 'IN_PROGRESS', audienceCount: 0 }, jobs: [] });
    clock.advance(10_000);
    const body = { audienceGroupId, uploadDescription: 'more', audiences: ids(1, 2) };
    expect(await call(simulator, UPLOAD, { method: 'PUT', body })).toMatchObject({ status: 202, body: {} });
    expect(await data()).toMatchObject({
      audienceGroup: { status: 'READY', audienceCount: 2 },
      jobs: [{ audienceGroupId, jobStatus: 'QUEUED', type: 'DIFF_ADD', description: 'more', audienceCount: 2 }],
    });
    clock.advance(10_000);
    expect(await data()).toMatchObject({ audienceGroup: { audienceCount: 3 }, jobs: [{ jobStatus: 'FINISHED' }] });
    for (let n = 0; n < 10; n += 1) await call(simulator, UPLOAD, { method: 'PUT', body });
    expect(await call(simulator, UPLOAD, { method: 'PUT', body })).toMatchObject({ status: 429 });
    expect(codes(simulator)).toEqual([]);
  });

  test.each<[name: string, method: string, body: object]>([
    ['no name', 'POST', { audiences: [] }],
    ['a name of 121 characters', 'POST', { description: 'x'.repeat(121) }],
    ['10,001 ids', 'POST', { description: 'x', audiences: Array(10_001).fill({ id: user(0) }) }],
    ['a malformed id', 'POST', { description: 'x', audiences: [{ id: 'U1' }] }],
    ['an audience that is not there', 'PUT', { audienceGroupId: 1, audiences: ids(0) }],
  ])('is refused for %s', async (_name, method, body) => {
    expect(await call((await stage()).simulator, UPLOAD, { method, body })).toMatchObject({ status: 400 });
  });

  test('that is not there is not found', async () => {
    expect(await read((await stage()).simulator, 1)).toMatchObject({
      status: 400,
      body: { details: [{ message: 'AUDIENCE_GROUP_NOT_FOUND' }] },
    });
  });
});

describe('aggregation units', () => {
  test('are those of the running month, and tell nothing of fewer than twenty', async () => {
    const clock = manualClock();
    const simulator = await start({ users: [{ prefix: 'a', count: 25 }] }, clock);
    const send = (unit: string, count: number, n: number) => {
      const to = Array.from({ length: count }, (_, index) => user(index));
      const body = { to, messages: [text('x')], customAggregationUnits: [unit] };
      return call(simulator, MULTICAST, { body, retryKey: key(n) });
    };
    await send('few', 19, 1);
    await send('many', 25, 2);
    const get = async (path: string) => (await call(simulator, path)).body;
    expect(await get('/v2/bot/message/aggregation/info')).toEqual({ numOfCustomAggregationUnits: 2 });
    const list = '/v2/bot/message/aggregation/list?limit=1';
    expect(await get(list)).toEqual({ customAggregationUnits: ['few'], next: '1' });
    expect(await get(`${list}&start=1`)).toEqual({ customAggregationUnits: ['many'] });
    const insight = (unit: string, range = 'from=20261201&to=20261230') =>
      call(simulator, `/v2/bot/insight/message/event/aggregation?customAggregationUnit=${unit}&${range}`);
    expect((await insight('few')).body).toMatchObject({ overview: { uniqueImpression: null, uniqueClick: null } });
    expect((await insight('many')).body).toMatchObject({ overview: { uniqueImpression: 25, uniqueClick: 0 } });
    expect((await insight('many', 'from=20261202&to=20261203')).body.overview).toMatchObject({
      uniqueImpression: null,
    });
    for (const range of ['from=20261201&to=20261231', 'from=20261202&to=20261201', 'from=1&to=20261201', '']) {
      expect(await insight('many', range)).toMatchObject({ status: 400 });
    }
    clock.advance(31 * 86_400_000);
    expect(await get('/v2/bot/message/aggregation/info')).toEqual({ numOfCustomAggregationUnits: 0 });
  });
});

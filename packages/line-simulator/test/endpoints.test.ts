import { describe, expect, test } from 'vitest';
import { UNIMPLEMENTED } from '../src/api/unimplemented.ts';
import { nthUserId } from '../src/index.ts';
import { CHANNEL, call, codes, control, start, user } from './support.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('paths', () => {
  test.each(['/v2/bot/nothing', '/v2/bot/info/', '/v2//bot/info', '/', '/v2/bot/profile/', '/v2/bot/info/%zz'])(
    '%s is not found',
    async (path) => {
      const answer = await call(await start(), path);
      expect(answer).toMatchObject({ status: 404, body: { message: 'Not found' } });
      expect(answer.requestId).toMatch(UUID);
      expect(answer.contentType).toContain('application/json');
    },
  );

  test('of operations that are not played answer 501 and are V10, every one of them', async () => {
    const simulator = await start();
    for (const { method, path } of UNIMPLEMENTED) {
      expect([method, path, await call(simulator, path.replaceAll(':', ''), { method })]).toMatchObject([
        method,
        path,
        { status: 501, requestId: expect.stringMatching(UUID) },
      ]);
    }
    expect(codes(simulator)).toEqual(UNIMPLEMENTED.map(() => 'V10'));
    expect([...simulator.ledger.violations()][0]).toMatchObject({ channelId: CHANNEL, detail: expect.any(String) });
  });
});

describe('users', () => {
  test('have a profile as long as they are friends', async () => {
    const simulator = await start();
    expect((await call(simulator, `/v2/bot/profile/${user(3)}`)).body).toMatchObject({ userId: user(3) });
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(3)] });
    expect(await call(simulator, `/v2/bot/profile/${user(3)}`)).toMatchObject({ status: 404 });
    expect(await call(simulator, '/v2/bot/profile/U1')).toMatchObject({ status: 400 });
  });

  test('are listed page by page, friends only', async () => {
    const listed = nthUserId('b', 1);
    const simulator = await start({ users: [{ prefix: 'a', count: 5 }, { ids: [listed] }] });
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(1)] });
    const pages: string[][] = [];
    let query = '?limit=2';
    for (;;) {
      const { body } = await call(simulator, `/v2/bot/followers/ids${query}`);
      pages.push(body.userIds as string[]);
      if (typeof body.next !== 'string') break;
      query = `?limit=2&start=${body.next}`;
    }
    expect(pages).toEqual([[user(0), user(2)], [user(3), user(4)], [listed]]);
  });

  test('have ids of LINE’s shape, one for each number', () => {
    expect(nthUserId('a1', 255)).toBe(`Ua1${'0'.repeat(28)}ff`);
    expect(nthUserId('', 0)).toMatch(/^U[0-9a-f]{32}$/);
  });
});

test('the bot’s user id is that of its channel, always the same', async () => {
  const [one, two] = [await start(), await start()];
  const info = (await call(one, '/v2/bot/info')).body;
  expect(info).toMatchObject({ userId: expect.stringMatching(/^U[0-9a-f]{32}$/), chatMode: 'bot' });
  expect((await call(two, '/v2/bot/info')).body).toEqual(info);
});

import { describe, expect, test } from 'vitest';
import { CHANNEL, call, codes, control, manualClock, start, user } from './support.ts';

const LINK = '/v2/bot/richmenu/bulk/link';
const UNLINK = '/v2/bot/richmenu/bulk/unlink';
const menuOf = (n: number) => `/v2/bot/user/${user(n)}/richmenu`;
const MENUS = { richMenuIds: ['richmenu-1', 'richmenu-2'] };

describe('a user’s rich menu', () => {
  const path = menuOf(0);

  test('is linked, read and unlinked', async () => {
    const simulator = await start(MENUS);
    expect(await call(simulator, path)).toMatchObject({ status: 404, body: { message: 'the user has no richmenu' } });
    expect(await call(simulator, `${path}/richmenu-1`, { method: 'POST' })).toMatchObject({ status: 200, body: {} });
    expect(await call(simulator, `${path}/richmenu-2`, { method: 'POST' })).toMatchObject({ status: 200 });
    expect((await call(simulator, path)).body).toEqual({ richMenuId: 'richmenu-2' });
    expect(await call(simulator, path, { method: 'DELETE' })).toMatchObject({ status: 200, body: {} });
    expect(await call(simulator, path)).toMatchObject({ status: 404 });
    expect(codes(simulator)).toEqual([]);
  });

  test('must exist, the user id must be well formed, and who blocked is left alone', async () => {
    const simulator = await start(MENUS);
    expect(await call(simulator, `${path}/richmenu-9`, { method: 'POST' })).toMatchObject({
      status: 404,
      body: { message: 'Not found' },
    });
    expect(await call(simulator, '/v2/bot/user/U9/richmenu/richmenu-1', { method: 'POST' })).toMatchObject({
      status: 400,
      body: { message: "The value for the 'userId' parameter is invalid" },
    });
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(0)] });
    expect(await call(simulator, `${path}/richmenu-1`, { method: 'POST' })).toMatchObject({ status: 200 });
    expect(await call(simulator, path)).toMatchObject({ status: 404 });
  });
});

describe('a bulk link', () => {
  const link = (richMenuId: string, ...users: string[]) => ({ body: { richMenuId, userIds: users } });

  test('is answered at once and applied two seconds later by the simulator’s clock', async () => {
    const clock = manualClock();
    const simulator = await start(MENUS, clock);
    expect(await call(simulator, LINK, link('richmenu-1', user(0), user(1)))).toMatchObject({ status: 202, body: {} });
    clock.advance(1_999);
    expect(await call(simulator, menuOf(0))).toMatchObject({ status: 404 });
    clock.advance(1);
    expect((await call(simulator, menuOf(0))).body).toEqual({ richMenuId: 'richmenu-1' });
    expect(await call(simulator, UNLINK, { body: { userIds: [user(0)] } })).toMatchObject({ status: 202 });
    clock.advance(2_000);
    expect(await call(simulator, menuOf(0))).toMatchObject({ status: 404 });
    expect((await call(simulator, menuOf(1))).body).toEqual({ richMenuId: 'richmenu-1' });
  });

  test('wins over a single link that was asked for later and applied earlier', async () => {
    const clock = manualClock();
    const simulator = await start({ ...MENUS, knobs: { bulkDelayMs: 5_000 } }, clock);
    await call(simulator, LINK, link('richmenu-1', user(0)));
    clock.advance(1_000);
    await call(simulator, `${menuOf(0)}/richmenu-2`, { method: 'POST' });
    expect((await call(simulator, menuOf(0))).body).toEqual({ richMenuId: 'richmenu-2' });
    clock.advance(4_000);
    expect((await call(simulator, menuOf(0))).body).toEqual({ richMenuId: 'richmenu-1' });
  });

  test('reaches no one who blocked before it was applied', async () => {
    const clock = manualClock();
    const simulator = await start(MENUS, clock);
    await call(simulator, LINK, link('richmenu-1', user(0), user(1)));
    await control(simulator, '/users/block', { channelId: CHANNEL, userIds: [user(0)] });
    clock.advance(2_000);
    const statuses = [(await call(simulator, menuOf(0))).status, (await call(simulator, menuOf(1))).status];
    expect(statuses).toEqual([404, 200]);
  });

  test.each<[name: string, path: string, body: unknown, status: number, answer: unknown]>([
    ['no users', LINK, { richMenuId: 'richmenu-1', userIds: [] }, 400, { message: expect.stringContaining('1 error') }],
    ['a malformed user', LINK, link('richmenu-1', 'U1').body, 400, invalid('userIds[0]')],
    ['a malformed user', UNLINK, { userIds: [user(0), 'U1'] }, 400, invalid('userIds[1]')],
    ['no menu', LINK, { userIds: [user(0)] }, 400, { details: [{ message: 'invalid richMenuId' }] }],
    ['a menu that is not there', LINK, link('richmenu-9', user(0)).body, 404, { message: 'richmenu not found' }],
  ])('is refused for %s (%s)', async (_name, path, body, status, answer) => {
    expect(await call(await start(MENUS), path, { body })).toMatchObject({ status, body: answer });
  });

  test('takes 500 users, and no retry key', async () => {
    const simulator = await start(MENUS);
    const many = Array.from({ length: 501 }, (_, n) => user(n % 10));
    expect(await call(simulator, LINK, link('richmenu-1', ...many))).toMatchObject({ status: 400 });
    expect(await call(simulator, LINK, link('richmenu-1', ...many.slice(1)))).toMatchObject({ status: 202 });
    const retryKey = '00000000-0000-8000-8000-000000000001';
    expect(await call(simulator, LINK, { ...link('richmenu-1', user(0)), retryKey })).toMatchObject({ status: 400 });
    expect(codes(simulator)).toEqual(['V5']);
  });
});

function invalid(property: string) {
  return { message: `The property, ${property}, in the request body is invalid (line: -, column: -)` };
}

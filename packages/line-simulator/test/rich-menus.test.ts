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

const MENU = {
  size: { width: 2_500, height: 843 },
  selected: true,
  name: 'menu',
  chatBarText: 'Open',
  areas: [{ bounds: { x: 0, y: 0, width: 10, height: 10 }, action: { type: 'message', text: 'hi' } }],
};

describe('a menu', () => {
  const create = async (simulator: Awaited<ReturnType<typeof start>>) =>
    String((await call(simulator, '/v2/bot/richmenu', { body: MENU })).body.richMenuId);
  const image = { raw: 'bytes of an image', contentType: 'image/png' };

  test('is made without an image, and can be linked once it has one', async () => {
    const clock = manualClock();
    const simulator = await start({}, clock);
    const id = await create(simulator);
    expect(id).toMatch(/^richmenu-[0-9a-f]{32}$/);
    const link = () => call(simulator, `${menuOf(0)}/${id}`, { method: 'POST' });
    const imageless = { status: 400, body: { message: 'must upload richmenu image before applying it to user' } };
    expect(await link()).toMatchObject(imageless);
    const body = { richMenuId: id, userIds: [user(0)] };
    expect(await call(simulator, LINK, { body })).toMatchObject(imageless);
    const content = `/v2/bot/richmenu/${id}/content`;
    expect(
      (await fetch(`${simulator.apiUrl}${content}`, { headers: { authorization: 'Bearer token-1' } })).status,
    ).toBe(404);
    expect(await call(simulator, content, { raw: 'x' })).toMatchObject({ status: 415 });
    expect(await call(simulator, content, image)).toMatchObject({ status: 200, body: {} });
    expect(await call(simulator, content, image)).toMatchObject({ status: 400 });
    const got = await fetch(`${simulator.apiUrl}${content}`, { headers: { authorization: 'Bearer token-1' } });
    expect([got.headers.get('content-type'), await got.text()]).toEqual(['image/png', image.raw]);
    expect(await link()).toMatchObject({ status: 200 });
  });

  test('is listed, read and deleted, which takes it from its users', async () => {
    const simulator = await start(MENUS);
    const id = await create(simulator);
    const listed = (await call(simulator, '/v2/bot/richmenu/list')).body.richmenus as { richMenuId: string }[];
    expect(listed.map(({ richMenuId }) => richMenuId)).toEqual(['richmenu-1', 'richmenu-2', id]);
    expect((await call(simulator, `/v2/bot/richmenu/${id}`)).body).toEqual({ richMenuId: id, ...MENU });
    await call(simulator, `${menuOf(0)}/richmenu-1`, { method: 'POST' });
    expect(await call(simulator, '/v2/bot/richmenu/richmenu-1', { method: 'DELETE' })).toMatchObject({ status: 200 });
    expect(await call(simulator, menuOf(0))).toMatchObject({ status: 404 });
    expect(await call(simulator, '/v2/bot/richmenu/richmenu-1')).toMatchObject({ status: 404 });
    expect(await call(simulator, '/v2/bot/richmenu/richmenu-1', { method: 'DELETE' })).toMatchObject({ status: 404 });
  });

  test.each([
    ['a long bar text', { chatBarText: 'x'.repeat(15) }],
    ['no name', { name: '' }],
    ['a narrow size', { size: { width: 799, height: 250 } }],
    ['a tall size', { size: { width: 1_000, height: 700 } }],
    ['21 areas', { areas: Array(21).fill(MENU.areas[0]) }],
    ['no word on whether it is open', { selected: undefined }],
  ])('is refused for %s', async (_name, change) => {
    const body = { ...MENU, ...change };
    expect(await call(await start(), '/v2/bot/richmenu', { body })).toMatchObject({
      status: 400,
      body: { message: 'The request body has 1 error(s)' },
    });
  });

  test('has aliases', async () => {
    const simulator = await start(MENUS);
    const ALIAS = '/v2/bot/richmenu/alias';
    const alias = { richMenuAliasId: 'home', richMenuId: 'richmenu-1' };
    expect(await call(simulator, ALIAS, { body: alias })).toMatchObject({ status: 200 });
    expect(await call(simulator, ALIAS, { body: alias })).toMatchObject({ status: 400 });
    expect((await call(simulator, `${ALIAS}/home`)).body).toEqual(alias);
    expect(await call(simulator, `${ALIAS}/home`, { body: { richMenuId: 'richmenu-2' } })).toMatchObject({
      status: 200,
    });
    expect(await call(simulator, `${ALIAS}/home`, { body: { richMenuId: 'x' } })).toMatchObject({ status: 400 });
    expect((await call(simulator, `${ALIAS}/list`)).body).toEqual({
      aliases: [{ ...alias, richMenuId: 'richmenu-2' }],
    });
    expect(await call(simulator, `${ALIAS}/home`, { method: 'DELETE' })).toMatchObject({ status: 200 });
    expect(await call(simulator, `${ALIAS}/home`)).toMatchObject({ status: 404 });
    expect(await call(simulator, ALIAS, { body: { ...alias, richMenuAliasId: 'Home' } })).toMatchObject({
      status: 400,
    });
  });
});

describe('a batch', () => {
  const BATCH = '/v2/bot/richmenu/batch';

  test('replaces menus by what users had before it, later, three times an hour', async () => {
    const clock = manualClock();
    const simulator = await start(MENUS, clock);
    await call(simulator, `${menuOf(0)}/richmenu-1`, { method: 'POST' });
    await call(simulator, `${menuOf(1)}/richmenu-2`, { method: 'POST' });
    const swap = [
      { type: 'link', from: 'richmenu-1', to: 'richmenu-2' },
      { type: 'link', from: 'richmenu-2', to: 'richmenu-1' },
    ];
    const { status, requestId } = await call(simulator, BATCH, { body: { operations: swap } });
    expect(status).toBe(202);
    const progress = async () => (await call(simulator, `/v2/bot/richmenu/progress/batch?requestId=${requestId}`)).body;
    expect(await progress()).toEqual({ phase: 'ongoing', acceptedTime: '2026-12-01T00:00:00.000Z' });
    clock.advance(2_000);
    expect(await progress()).toMatchObject({ phase: 'succeeded', completedTime: '2026-12-01T00:00:02.000Z' });
    expect((await call(simulator, menuOf(0))).body).toEqual({ richMenuId: 'richmenu-2' });
    expect((await call(simulator, menuOf(1))).body).toEqual({ richMenuId: 'richmenu-1' });
    await call(simulator, BATCH, { body: { operations: [{ type: 'unlink', from: 'richmenu-1' }] } });
    clock.advance(2_000);
    expect(await call(simulator, menuOf(1))).toMatchObject({ status: 404 });
    await call(simulator, BATCH, { body: { operations: [{ type: 'unlinkAll' }] } });
    clock.advance(2_000);
    expect(await call(simulator, menuOf(0))).toMatchObject({ status: 404 });
    expect(await call(simulator, BATCH, { body: { operations: [{ type: 'unlinkAll' }] } })).toMatchObject({
      status: 429,
    });
    const unknown = '/v2/bot/richmenu/progress/batch?requestId=x';
    expect(await call(simulator, unknown)).toMatchObject({ status: 404 });
  });

  test.each([
    ['nothing to do', { operations: [] }],
    ['a menu that is not there', { operations: [{ type: 'link', from: 'richmenu-1', to: 'x' }] }],
    ['an unknown operation', { operations: [{ type: 'swap' }] }],
    ['a key of 101 characters', { operations: [{ type: 'unlinkAll' }], resumeRequestKey: 'x'.repeat(101) }],
  ])('is refused for %s', async (_name, body) => {
    expect(await call(await start(MENUS), BATCH, { body })).toMatchObject({ status: 400 });
  });
});

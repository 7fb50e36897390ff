import type { Tenant } from '@dueline/contracts';
import { checkInvariants, inTransaction } from '@dueline/db';
import { columnOf, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import {
  createRichMenu,
  deleteRichMenu,
  getUserRichMenu,
  holdRichMenus,
  listRichMenus,
  RICH_MENU_INVARIANTS,
  type RichMenuWish,
  wishRichMenus,
} from '@dueline/rich-menus';
import { afterAll, beforeAll, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
let menus: string[];
beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db);
  menus = [];
  for (const n of [1, 2]) menus.push(await register(n));
});
afterAll(() => shared[Symbol.asyncDispose]());

const register = (n: number, who: Tenant = tenant) =>
  createRichMenu(shared.db, who, { name: `menu ${n}`, lineRichMenuId: `richmenu-${n}` });

const wish = (user: number, richMenuId: string | null): Promise<RichMenuWish> =>
  columnOf(
    shared.db,
    `insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, user_id, retry_key, body, body_sha256, deliver_until)
     select $1, $2, 'event', gen_random_uuid(), case when $4 then 'richmenu_unlink' else 'richmenu_link' end, $3, gen_random_uuid(), '', '',
            app_now() + interval '1 day'
     returning id`,
    [tenant.organizationId, tenant.lineOaId, lineUserId(user), richMenuId === null],
  ).then(([deliveryId]) => ({ ...tenant, userId: lineUserId(user), richMenuId, deliveryId: String(deliveryId) }));

const wished = (...wishes: readonly RichMenuWish[]) => inTransaction(shared.db, (tx) => wishRichMenus(tx, wishes));

test('a menu is registered once, and belongs to its account alone', async () => {
  const other = await insertTenant(shared.db);
  const theirs = await register(1, other);
  await expect(register(1)).rejects.toThrow('the account has richmenu-1 already');
  expect((await listRichMenus(shared.db, tenant)).map(({ id }) => id)).toEqual(menus);
  expect(await deleteRichMenu(shared.db, tenant, { id: theirs })).toBe(false);

  const refs = [...menus, theirs].map((richMenuId) => ({ ...tenant, richMenuId }));
  const loaded = await inTransaction(shared.db, (tx) => holdRichMenus(tx, refs));
  expect([...loaded.keys()].sort()).toEqual(menus);
});

test('a deleted menu is not there for decisions, and its menu at LINE can be registered anew', async () => {
  const id = await register(3);
  expect(await deleteRichMenu(shared.db, tenant, { id })).toBe(true);
  expect(await deleteRichMenu(shared.db, tenant, { id })).toBe(false);
  expect(await inTransaction(shared.db, (tx) => holdRichMenus(tx, [{ ...tenant, richMenuId: id }]))).toEqual(new Map());
  await deleteRichMenu(shared.db, tenant, { id: await register(3) });
});

test.for([
  ['', 'richmenu-1', '/name'],
  ['menu', 'menu-1', '/lineRichMenuId'],
  ['menu', 'richmenu-1/2', '/lineRichMenuId'],
])('a menu %j of id %j is not registered', async ([name = '', lineRichMenuId = '', field = '']) => {
  await expect(createRichMenu(shared.db, tenant, { name, lineRichMenuId })).rejects.toThrow(field);
});

test('the last wish of a person counts, and each is numbered in the order of the decisions', async () => {
  const [one = '', two = ''] = menus;
  expect(await getUserRichMenu(shared.db, tenant, { userId: lineUserId(1) })).toBeUndefined();
  await wished(await wish(1, one), await wish(2, two), await wish(1, two));
  const last = await wish(1, null);
  await wished(last);

  expect(await getUserRichMenu(shared.db, tenant, { userId: lineUserId(1) })).toEqual({
    ...{ richMenuId: null, actionSeq: '3', deliveryId: last.deliveryId, status: 'planned' },
  });
  const history = `select concat_ws(' ', action_seq, coalesce(rich_menu_id::text, 'none')) from rich_menu_wish where user_id = $1 order by action_seq`;
  expect(await columnOf(shared.db, history, [lineUserId(1)])).toEqual([`1 ${one}`, `2 ${two}`, '3 none']);
});

test('wishes for the same people at the same moment all get a number of their own', async () => {
  const rounds = await Promise.all(
    Array.from({ length: 12 }, async (_, n) => {
      const wishes = await Promise.all([11, 12, 13].map((user) => wish(user, menus[n % 2] ?? null)));
      return n % 3 === 0 ? wishes.reverse() : wishes;
    }),
  );
  await Promise.all(rounds.map((wishes) => wished(...wishes)));
  expect(
    await columnOf(shared.db, 'select distinct action_seq from user_rich_menu where user_id > $1', [lineUserId(10)]),
  ).toEqual(['12']);
  const limits = { leaseOverSeconds: 60, silentSeconds: 900, overdueSeconds: 300, historyDays: 31 };
  const checks = await checkInvariants(shared.db, RICH_MENU_INVARIANTS, limits);
  expect(checks.filter(({ violations }) => violations > 0)).toEqual([]);
});

test('a wish is never changed, and no account wishes for the menu of another', async () => {
  const change = shared.db.$client.query('update rich_menu_wish set action_seq = action_seq + 100');
  await expect(change).rejects.toMatchObject({ code: 'DL004' });
  const theirs = await register(9, await insertTenant(shared.db));
  await expect(wished(await wish(1, theirs))).rejects.toThrow();
});

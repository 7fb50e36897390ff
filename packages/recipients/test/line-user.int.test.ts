import { inTransaction } from '@dueline/db';
import { insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { getLineUsers, type LineUserKey, lineUserKey } from '@dueline/recipients';
import { afterAll, beforeAll, expect, test } from 'vitest';

let shared: TestDb;
beforeAll(async () => {
  shared = await testDb();
});
afterAll(() => shared[Symbol.asyncDispose]());

const get = (keys: readonly LineUserKey[]) => inTransaction(shared.db, (tx) => getLineUsers(tx, keys));

test('people of several accounts are told by account and user; repeated keys once, unknown ones not at all', async () => {
  const [one, two] = [await insertTenant(shared.db), await insertTenant(shared.db)];
  await insertUsers(shared.db, one, 2);
  await insertUsers(shared.db, two, 1);
  await shared.db.$client.query(
    `update line_user set attributes = '{"a": 1}', is_following = false, display_name = 'ปลา 🐟', language = 'th' where line_oa_id = $1`,
    [two.lineOaId],
  );
  const key = ({ lineOaId }: { lineOaId: string }, user: number): LineUserKey => ({
    lineOaId,
    userId: lineUserId(user),
  });

  const found = await get([key(one, 1), key(two, 1), key(one, 1), key(two, 2), key({ lineOaId: '999999' }, 1)]);
  expect([...found.keys()].sort()).toEqual([lineUserKey(key(one, 1)), lineUserKey(key(two, 1))].sort());
  expect(found.get(lineUserKey(key(one, 1)))).toEqual({
    ...{ ...key(one, 1), isFollowing: true, displayName: null, timezone: null, language: null },
    attributes: new Map(),
  });
  expect(found.get(lineUserKey(key(two, 1)))).toEqual({
    ...{ ...key(two, 1), isFollowing: false, displayName: 'ปลา 🐟', timezone: null, language: 'th' },
    attributes: new Map([['a', 1]]),
  });
  expect(await get([])).toEqual(new Map());
});

test('attributes come as they are, whatever their names [SEM-114]', async () => {
  const tenant = await insertTenant(shared.db);
  const [userId = ''] = await insertUsers(shared.db, tenant, 1);
  await shared.db.$client.query('update line_user set attributes = $2 where line_oa_id = $1', [
    tenant.lineOaId,
    '{"__proto__": {"x": 1}, "constructor": null, "": "🎉", "list": [1, {"b": false}], "big": 1e300}',
  ]);
  const user = (await get([{ lineOaId: tenant.lineOaId, userId }])).values().next().value;
  expect(Object.fromEntries([...(user?.attributes ?? [])].map(([name, value]) => [`_${name}`, value]))).toEqual({
    ...{ ___proto__: { x: 1 }, _constructor: null, _: '🎉', _list: [1, { b: false }], _big: 1e300 },
  });
});

test('people are read while another transaction changes them, and nobody waits', async () => {
  const tenant = await insertTenant(shared.db);
  const [userId = ''] = await insertUsers(shared.db, tenant, 1);
  await inTransaction(shared.db, async (tx) => {
    await getLineUsers(tx, [{ lineOaId: tenant.lineOaId, userId }]);
    await shared.db.$client.query(`update line_user set attributes = '{"a": 2}' where line_oa_id = $1`, [
      tenant.lineOaId,
    ]);
    const again = await getLineUsers(tx, [{ lineOaId: tenant.lineOaId, userId }]);
    expect([...again.values()][0]?.attributes.get('a')).toBe(2);
  });
});

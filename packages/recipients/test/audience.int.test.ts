import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { addAudienceMembers, createAudience, loadMemberships, membershipKey } from '@dueline/recipients';
import { afterAll, beforeAll, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db);
  await insertUsers(shared.db, tenant, 5);
});
afterAll(() => shared[Symbol.asyncDispose]());

test('people are in an audience once, however often they are added', async () => {
  const audienceId = await createAudience(shared.db, tenant, { name: 'Gold' });
  const userIds = [lineUserId(1), lineUserId(3), lineUserId(1)];
  expect(await addAudienceMembers(shared.db, tenant, { audienceId, userIds })).toBe(2);
  expect(await addAudienceMembers(shared.db, tenant, { audienceId, userIds: [...userIds, lineUserId(5)] })).toBe(1);
  expect(await columnOf(shared.db, 'select user_id from audience_member order by 1')).toEqual(
    [1, 3, 5].map(lineUserId),
  );
});

test('an audience takes no stranger, and no account adds to the audience of another', async () => {
  const audienceId = await createAudience(shared.db, tenant, { name: 'Silver' });
  const other = await insertTenant(shared.db);
  await insertUsers(shared.db, other, 1);
  const add = (who: Tenant, user: number) =>
    addAudienceMembers(shared.db, who, { audienceId, userIds: [lineUserId(1), lineUserId(user)] });

  await expect(add(tenant, 6)).rejects.toThrow('no such audience or person');
  await expect(add(other, 1)).rejects.toThrow('no such audience or person');
  expect(await columnOf(shared.db, 'select 1 from audience_member where audience_id = $1', [audienceId])).toEqual([]);
});

test.for(['', 'x'.repeat(201), 'a\u0000'])('an audience is not named %j', async (name) => {
  await expect(createAudience(shared.db, tenant, { name })).rejects.toThrow('the name of an audience');
});

test('who is in which audiences is told for all at once; a deleted audience and one of another account are not there', async () => {
  const other = await insertTenant(shared.db);
  const [mine, gone] = [
    await createAudience(shared.db, tenant, { name: 'mine' }),
    await createAudience(shared.db, tenant, { name: 'gone' }),
  ];
  const theirs = await createAudience(shared.db, other, { name: 'theirs' });
  for (const audienceId of [mine, gone])
    await addAudienceMembers(shared.db, tenant, { audienceId, userIds: [lineUserId(1)] });
  await shared.db.$client.query('update audience set deleted_date = app_now() where id = $1', [gone]);
  const pairs = [mine, gone, theirs, '999999999'].flatMap((audienceId) =>
    [1, 2, 1].map((user) => ({ ...tenant, audienceId, userId: lineUserId(user) })),
  );
  const told = await inTransaction(shared.db, (tx) => loadMemberships(tx, pairs));
  expect(told).toEqual(
    new Map([
      [membershipKey({ ...tenant, audienceId: mine, userId: lineUserId(1) }), true],
      [membershipKey({ ...tenant, audienceId: mine, userId: lineUserId(2) }), false],
    ]),
  );
});

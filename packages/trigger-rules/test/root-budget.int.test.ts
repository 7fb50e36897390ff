import { randomUUID } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { MAX_DECISIONS_PER_ROOT, spendRootBudget } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';

let own: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterAll(() => own[Symbol.asyncDispose]());

const spend = (...roots: string[]) =>
  inTransaction(own.db, (tx) =>
    spendRootBudget(
      tx,
      roots.map((rootId) => ({ ...tenant, rootId })),
    ),
  );
const times = (n: number, root: string) => Array.from({ length: n }, () => root);

test('so many decisions go back to one event and no more, however they are spread over transactions', async () => {
  const [root, other] = [randomUUID(), randomUUID()];
  const together = await Promise.all(
    Array.from({ length: 12 }, (_, n) => spend(...times(10, root), ...(n === 0 ? [other] : []))),
  );
  expect(together.flat().filter(Boolean)).toHaveLength(MAX_DECISIONS_PER_ROOT + 1);
  expect(await spend(root, other, root)).toEqual([false, true, false]);
  expect(await spend()).toEqual([]);
});

test('roots that led to nothing for long are forgotten as others are written', async () => {
  await own.db.$client.query(`update root_budget set last_at = app_now() - interval '91 days'`);
  const kept = randomUUID();
  await spend(kept);
  expect(await columnOf(own.db, 'select root_id from root_budget')).toEqual([kept]);
});

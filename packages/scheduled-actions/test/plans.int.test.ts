import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, openDatabase } from '@dueline/db';
import { insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { createDueAccounts, dueWithin, finishActions, holdActions } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim, insertCrowd } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const query = (text: string) => own.db.$client.query(text);

/** The plans that the server really used for `work` on a connection of its own, as it tells them itself. */
async function plansOf(setting: string, work: (db: Db) => Promise<void>): Promise<string> {
  const database = openDatabase({ url: own.url, applicationName: 'test', maxConnections: 1, onError: () => undefined });
  const plans: string[] = [];
  database.db.$client.on('connect', (client) => client.on('notice', ({ message = '' }) => plans.push(message)));
  try {
    await database.db.$client.query(
      `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_level = 'notice'; ${setting}`,
    );
    await work(database.db);
  } finally {
    await database.close();
  }
  return plans.join('\n');
}

const SETTINGS = ['', 'set plan_cache_mode = force_generic_plan', 'set enable_hashjoin = off'];

test.for([
  ['un-analyzed', '', 0],
  ['analyzed', 'analyze', 0],
  ['un-analyzed, with product time ahead', '', 3_600],
  ['analyzed, with product time ahead', 'analyze', 3_600],
] as const)(
  'beside 200,000 future rows the claim, the scan for accounts and the look read the indexes only (%s)',
  { timeout: 120_000 },
  async ([, prepare, aheadSeconds]) => {
    await query('alter table scheduled_action set (autovacuum_enabled = off)');
    await moveProductTime(own.db, aheadSeconds);
    await insertCrowd(own.url, tenant, { count: 200_000, fromSeconds: 3_600, overSeconds: 86_400 });
    await insertCrowd(own.url, await insertTenant(own.db), { count: 5_000, fromSeconds: -60 });
    await insertCrowd(own.url, await insertTenant(own.db), { count: 3, fromSeconds: -10 }); // fewer than its share
    if (prepare !== '') await query(prepare);
    for (const setting of SETTINGS) {
      const accounts = createDueAccounts();
      const looks = await plansOf(setting, async (db) => void (await dueWithin(db, 2_000, { accounts })));
      const claims = await plansOf(setting, async (db) => {
        for (let n = 0; n < 2; n += 1) expect(await claim(db, { limit: 50, accounts })).toHaveLength(50);
        expect(await claim(db, { limit: 50 })).toHaveLength(50);
      });
      expect(looks, setting).toContain('idx_scheduled_action_due');
      expect(claims, setting).toContain('idx_scheduled_action_pending');
      expect(claims, setting).toContain('Tid Scan on scheduled_action action'); // what is locked is written where it lies
      expect(claims, setting).not.toContain('scheduled_action_pkey');
      expect(claims, setting).not.toContain('idx_scheduled_action_due'); // it would read everybody's due rows for one account
      for (const plans of [looks, claims]) expect(plans, setting).not.toMatch(/Seq Scan on scheduled_action/);
    }
  },
);

test('rows in hand are found by their ids, not among all in processing, of which statistics know none', async () => {
  await query('alter table scheduled_action set (autovacuum_enabled = off)');
  await insertCrowd(own.url, tenant, { count: 500, fromSeconds: -60 });
  await insertCrowd(own.url, await insertTenant(own.db), { count: 50_000, fromSeconds: 3_600 });
  await query('analyze scheduled_action');
  const tickets = await claim(own.db, { limit: 500 });
  for (const setting of SETTINGS) {
    const plans = await plansOf(setting, (db) =>
      inTransaction(db, async (tx) => {
        const some = tickets.splice(0, 100);
        expect(await holdActions(tx, some)).toHaveLength(100);
        await finishActions(
          tx,
          some.map(({ id, fence }) => ({ id, fence, to: 'done' }) as const),
        );
      }),
    );
    expect(plans, setting).toMatch(/Index Scan using \S+ on scheduled_action action/);
    expect(plans, setting).not.toContain('idx_scheduled_action_processing');
  }
});

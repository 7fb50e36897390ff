import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import {
  type ClaimedTicket,
  claimBatch,
  createDueAccounts,
  dueWithin,
  releaseActions,
} from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CLAIM, claim, insertCrowd } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const query = (text: string) => own.db.$client.query(text);

const claimer = (limit: number) => {
  const accounts = createDueAccounts();
  const options = { accounts, limit, via: 'inline', maxProcessing: Number.MAX_SAFE_INTEGER } as const;
  return { accounts, claim: () => claim(own.db, options) };
};

/** What makes a row due behind the place where a claimer goes on, without a word to it; says which. `claimed` is what it took. */
const WAYS: Readonly<Record<string, (claimed: readonly ClaimedTicket[]) => Promise<string>>> = {
  'was released': async ([ticket]) => {
    if (ticket === undefined) throw new Error('nothing was claimed');
    await releaseActions(own.db, [ticket]);
    return ticket.id;
  },
  'was inserted late': async () => {
    await insertCrowd(own.url, tenant, { count: 1, fromSeconds: -3_600 });
    const { rows } = await query('select max(id) as id from scheduled_action');
    return rows[0].id;
  },
  'was moved into the past': async () => {
    const { rows } = await query(`
      update scheduled_action set execute_at = app_now() - interval '30 days', fence = fence + 1
       where id = (select max(id) from scheduled_action where status = 'pending') returning id`);
    return rows[0].id;
  },
  'was held by another claimer, which rolled back': async () => ROLLED_BACK,
};
const ROLLED_BACK = '1';

const KINDS = Object.entries(WAYS).flatMap(([way, makeDue]) =>
  [
    ['though there is always more', 40_000],
    ['when there is no more', 300],
  ].map(([how, count]) => [way, how, Number(count), makeDue] as const),
);

test.for(KINDS)(
  'a row that %s is claimed within two seconds, without a hint, %s',
  { timeout: 30_000 },
  async ([, , count, makeDue]) => {
    await insertCrowd(own.url, tenant, { count, fromSeconds: -60 });
    await query('analyze scheduled_action');
    const other = await own.db.$client.connect();
    await other.query(`begin; select from scheduled_action where id = ${ROLLED_BACK} for update`);
    const mine = claimer(100);
    const claimed = [await mine.claim(), await mine.claim()].flat();
    expect(claimed).toHaveLength(200);
    await other.query('rollback');
    other.release();

    const id = await makeDue(claimed);
    const dueAt = performance.now();
    for (let taken = false; !taken; ) {
      const tickets = await mine.claim();
      taken = tickets.some((ticket) => ticket.id === id);
      if (!taken) expect(performance.now() - dueAt).toBeLessThan(2_000);
    }
  },
);

test('a claimer whose transaction was rolled back begins with the very rows that it took', async () => {
  await insertCrowd(own.url, tenant, { count: 2_000, fromSeconds: -60 });
  const { accounts, claim: take } = claimer(100);
  await take();
  const ids = (tickets: readonly ClaimedTicket[]) => new Set(tickets.map(({ id }) => id));
  const took: ClaimedTicket[] = [];
  const spoiled = inTransaction(own.db, async (tx) => {
    took.push(...(await claimBatch(tx, { ...CLAIM, accounts, limit: 100 })));
    throw new Error('undecidable');
  });
  await expect(spoiled).rejects.toThrow('undecidable');
  accounts.rolledBack();
  expect(ids(await take())).toEqual(ids(took));
});

test('a look finds what is overdue and older than all that the last one saw', async () => {
  await insertCrowd(own.url, tenant, { count: 1, fromSeconds: -1 });
  const { accounts, claim: take } = claimer(100);
  expect(await take()).toHaveLength(1);
  expect(await dueWithin(own.db, 1_000, { accounts })).toEqual([]);
  await insertCrowd(own.url, tenant, { count: 1, fromSeconds: -86_400 });
  await expect.poll(() => dueWithin(own.db, 1_000, { accounts }), { timeout: 15_000 }).toEqual([0]);
});

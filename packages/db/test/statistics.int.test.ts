import { countTableRows } from '@dueline/db';
import { notifyQueueRatio } from '@dueline/db/changes';
import { insertTenant, testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';

test('PostgreSQL tells how many rows of a table are live and dead, and how full its queue of notifications is', async () => {
  await using own = await testDb();
  await insertTenant(own.db);
  await own.db.$client.query('update line_oa set name = name');
  await own.db.$client.query('select pg_stat_force_next_flush()');

  await expect
    .poll(() => countTableRows(own.db, ['line_oa', 'no_such_table']))
    .toEqual([{ table: 'line_oa', live: 1, dead: 1 }]);
  const ratio = await notifyQueueRatio(own.db);
  expect(ratio).toBeGreaterThanOrEqual(0);
  expect(ratio).toBeLessThan(1);
});

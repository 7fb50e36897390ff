import { insertTenant, moveProductTime, testDb } from '@dueline/db/testing';
import { countOpenActions } from '@dueline/scheduled-actions';
import { expect, test } from 'vitest';
import { claim, schedule } from './support.ts';

test('what is due, in hand and stuck is counted, and what waits for its time is not', async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db);
  await schedule(own.db, tenant, { count: 2, delaySeconds: 40_000 });
  await schedule(own.db, tenant, { count: 3 });
  await moveProductTime(own.db, 10_000);
  expect(await countOpenActions(own.db)).toEqual({ due: 3, processing: 0, stuck: 0 });

  await claim(own.db, { limit: 1 });
  expect(await countOpenActions(own.db)).toEqual({ due: 2, processing: 1, stuck: 0 });

  const past = `update scheduled_action set lease_until = clock_timestamp() - interval '2 minutes' where status = 'processing'`;
  await own.db.$client.query(past);
  expect(await countOpenActions(own.db)).toEqual({ due: 2, processing: 1, stuck: 1 });
});

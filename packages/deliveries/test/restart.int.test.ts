import { insertTenant, moveProductTime, testDb } from '@dueline/db/testing';
import { announceDeliveries, reapEarlierBoots } from '@dueline/deliveries';
import { expect, test } from 'vitest';
import { plan, start } from './support.ts';

const SETTLE_SECONDS = 600;

test('what a sender was at when it died is announced when its attempt is no longer waited for, not before and in vain', async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db);
  const announce = () => announceDeliveries(own.db, { limit: 10, againAfterSeconds: 60 });
  const ticket = await plan(own.db, tenant);
  expect(await start(own.db, tenant, { tickets: [ticket], claimedBy: 'sender:a' })).toHaveLength(1);
  expect(await reapEarlierBoots(own.db, { claimedBy: 'sender:b', settleSeconds: SETTLE_SECONDS })).toBe(1);
  expect(await announce()).toEqual([]);

  await moveProductTime(own.db, SETTLE_SECONDS);
  await own.db.$client.query(
    `update delivery_attempt set started_at = started_at - interval '${SETTLE_SECONDS} seconds'`,
  );
  const tickets = await announce();
  expect(tickets).toHaveLength(1);
  const settled = { claimedBy: 'sender:b', settleSeconds: SETTLE_SECONDS };
  expect(await start(own.db, tenant, { tickets, ...settled })).toMatchObject([{ id: ticket.id, verdict: 'ambiguous' }]);
});

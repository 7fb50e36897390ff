import type { Tenant, TenantTicket } from '@dueline/contracts';
import { inTransaction, sql } from '@dueline/db';
import { columnOf, insertRow, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import {
  cancelOfDeletedRules,
  finishActions,
  holdActions,
  recoverStaleProcessing,
  releaseActions,
  releaseUntaken,
  suspectActions,
} from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { deadlocks } from './race-states.ts';
import { claim, schedule } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const ROWS = 200;
const ROUNDS = 15;

/** The rows of two batches that were claimed share no row; those of messages that come again, and of sweeps, do. */
async function workOn(batch: readonly TenantTicket[]): Promise<void> {
  const inReverse = batch.toReversed();
  const ids = (tickets: readonly TenantTicket[]) => tickets.map(({ id }) => id);
  const decide = (tickets: readonly TenantTicket[]) =>
    inTransaction(own.db, async (tx) => {
      const held = await holdActions(tx, tickets);
      const until = 'claimable' as const;
      await finishActions(
        tx,
        held.toReversed().map(({ id, fence }) => ({ id, fence, to: 'deferred', until })),
      );
    });
  await Promise.all([
    ...[decide(batch), decide(inReverse)],
    ...[releaseActions(own.db, batch), releaseActions(own.db, inReverse)],
    ...[suspectActions(own.db, ids(batch)), suspectActions(own.db, ids(inReverse))],
    ...[recoverStaleProcessing(own.db), recoverStaleProcessing(own.db)],
    ...[releaseUntaken(own.db, { olderThanSeconds: 0 }), inTransaction(own.db, cancelOfDeletedRules)],
  ]);
}

test('whoever works on the same rows at the same time, in whatever order they come, no two are a deadlock [SEM-052, SEM-054]', async () => {
  const rule = await insertRow(own.db, 'trigger_rule', {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, name: 'rule' },
    ...{ source_type: 'attribute_changed', source_config: {}, action_type: 'send_message', action_config: {} },
  });
  await schedule(own.db, tenant, { count: ROWS, triggerRuleId: String(rule.id) });
  for (let round = 0; round < ROUNDS; round += 1) {
    const tickets = await claim(own.db, { leaseSeconds: round % 2 === 0 ? 300 : -1 });
    if (round === ROUNDS - 2) await own.db.execute(sql`update trigger_rule set deleted_date = app_now()`);
    await workOn(tickets);
  }
  expect(await deadlocks(own.db)).toEqual(['0']);
  while ((await inTransaction(own.db, cancelOfDeletedRules)).length > 0);
  expect(await columnOf(own.db, 'select distinct status from scheduled_action')).toEqual(['cancelled']);
});

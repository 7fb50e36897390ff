import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertTenant, insertUsers, type TestDb, testDb } from '@dueline/db/testing';
import { checkAndCompleteDelayWait, type OnRunAnew, operate, scheduleAction } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { insertFact, insertThings, waitingFor } from './facts.ts';
import { act, noDeliveries, rowOf } from './operating.ts';
import { standAt } from './support.ts';

const BEGIN = '2026-05-01T12:00:00Z';
const DURING = '2026-05-01T12:00:30Z';
const DEADLINE = '2026-05-01T12:01:00Z';

let own: TestDb;
let tenant: Tenant;
let things: Awaited<ReturnType<typeof insertThings>>;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  await insertUsers(own.db, tenant, 1);
  things = await insertThings(own.db, tenant);
  await standAt(own.db, BEGIN);
});
afterEach(() => own[Symbol.asyncDispose]());

async function schedule(changes: Parameters<typeof actionToSchedule>[1]): Promise<string> {
  const made = await inTransaction(own.db, (tx) => scheduleAction(tx, actionToSchedule(tenant, changes)));
  if (made.result !== 'made') throw new Error('an action was to be made');
  return made.id;
}
const person = (id: string, kind: 'cancel' | 'uncancel' | 'revive') => act(own.db, tenant, { id, operation: { kind } });
const row = (id: string) => rowOf(own.db, id, 'status, branch, lane, fence, execute_at, due_at');
const fail = (id: string) =>
  own.db.$client.query(
    `begin; update scheduled_action set status = 'processing', fence = fence + 1, lease_until = app_now() where id = ${id};
     update scheduled_action set status = 'failed', fence = fence + 1, lease_until = null, executed_at = app_now() where id = ${id}; commit`,
  );

const CLICK = { table: 'link_click', occurred_at: DURING };
const END = [
  ['uncancel', (id: string) => person(id, 'cancel')],
  ['revive', fail],
] as const;

test.for(END)('[T13] %s: a wait meets at once the click that came while it was ended', async ([kind, end]) => {
  const id = await schedule({ delay: waitingFor({ source: 'link' }) });
  await end(id);
  await insertFact(own.db, tenant, { ...CLICK, tracked_link_id: things.linkId });
  await standAt(own.db, '2026-05-01T12:00:40Z');

  const outcome = await person(id, kind);

  const { fence, ...state } = await row(id);
  const due = new Date('2026-05-01T12:00:40Z');
  expect(state).toEqual({ status: 'pending', branch: 'clicked', lane: 0, execute_at: due, due_at: due });
  expect(outcome).toEqual({ id, result: 'changed', fence });
});

test.for(END)('[T13] %s: a wait whose fact is not known any more waits until its deadline', async ([kind, end]) => {
  const id = await schedule({ delay: waitingFor({ source: 'link' }) });
  const fact = { source: 'link', refId: things.linkId, occurredAt: DURING, eventId: crypto.randomUUID() } as const;
  await standAt(own.db, DURING);
  await inTransaction(own.db, (tx) =>
    checkAndCompleteDelayWait(tx, [{ ...tenant, userId: actionToSchedule(tenant).userId, ...fact }]),
  );
  expect(await row(id)).toMatchObject({ branch: 'clicked', execute_at: new Date(DURING), due_at: new Date(DURING) });
  await end(id);

  await person(id, kind);

  expect(await row(id)).toMatchObject({ status: 'pending', branch: null, execute_at: new Date(DEADLINE) });
});

test('[T13] what hangs on a date that moved while it was cancelled follows it when it is un-cancelled', async () => {
  const to = { bookingId: things.bookingId };
  const id = await schedule({
    delay: { mode: 'relativeToDate', to, offsetSeconds: -3_600, whenPast: 'skip', reEvaluateConditions: false },
  });
  expect(await row(id)).toMatchObject({ execute_at: new Date('2026-06-01T09:00:00Z') });
  await person(id, 'cancel');
  await own.db.$client.query(`update booking set starts_at = '2026-07-01T10:00:00Z'`);

  await person(id, 'uncancel');

  const due = new Date('2026-07-01T09:00:00Z');
  expect(await row(id)).toMatchObject({ status: 'pending', execute_at: due, due_at: due });
});

test('[T13] who follows what runs anew is told in the same transaction: whole or not at all', async () => {
  const id = await schedule({ delaySeconds: 60 });
  await person(id, 'cancel');
  const uncancel = async (onRunAnew: OnRunAnew) =>
    operate(own.db, tenant, {
      ...{ ticket: { id, fence: String((await row(id))?.fence) }, operation: { kind: 'uncancel' }, by: 'mika' },
      ...{ cancelDeliveries: noDeliveries, onRunAnew },
    });
  await expect(uncancel(() => Promise.reject(new Error('not now')))).rejects.toThrow('not now');
  expect(await row(id)).toMatchObject({ status: 'cancelled' });
  const told: unknown[] = [];
  await uncancel(async (_tx, scope) => told.push(scope));
  expect(told).toEqual([{ tenant, scheduledActionIds: [id], by: 'mika' }]);
});

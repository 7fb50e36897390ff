import type { Tenant } from '@dueline/contracts';
import { inTransaction, lockUsers } from '@dueline/db';
import { columnOf, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import {
  checkAndCompleteDelayWait,
  confirmOperation,
  listActions,
  previewOperation,
  showAction,
} from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { insertFact, insertThings, waitingFor } from './facts.ts';
import { act, noDeliveries } from './operating.ts';
import { schedule } from './support.ts';

/** The first whole numbers that JavaScript has no numbers for. */
const FIRST = '9007199254740993';
const NEXT = '9007199254740995';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  for (const table of ['organization', 'line_oa', 'tracked_link', 'link_click', 'scheduled_action'])
    await own.db.$client.query(`alter table ${table} alter id set increment by 2 restart with ${FIRST}`);
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

test('ids beyond the safe numbers of JavaScript keep every digit where people look and operate, one by one and many at once [SEM-116, SEM-117]', async () => {
  expect(tenant).toEqual({ organizationId: FIRST, lineOaId: FIRST });
  expect(await schedule(own.db, tenant, { count: 2, delaySeconds: 60 })).toEqual([FIRST, NEXT]);
  await own.db.$client.query(`update scheduled_action set fence = ${FIRST} where id = ${NEXT}`);

  const page = await listActions(own.db, tenant, { filter: {}, limit: 1 });
  const rest = await listActions(own.db, tenant, { filter: {}, limit: 1, after: page.next ?? '' });
  expect([...page.actions, ...rest.actions].map(({ id, fence }) => [id, fence])).toEqual([
    [FIRST, '0'],
    [NEXT, FIRST],
  ]);
  expect(await act(own.db, tenant, { id: NEXT, operation: { kind: 'postpone', seconds: 5 } })).toEqual({
    ...{ id: NEXT, result: 'changed', fence: '9007199254740994' },
  });
  const edits = (await showAction(own.db, tenant, NEXT))?.edits ?? [];
  expect(edits).toMatchObject([{ before: { fence: FIRST }, after: { fence: '9007199254740994' } }]);

  const { token } = await previewOperation(own.db, tenant, { filter: {}, operation: { kind: 'cancel' }, by: 'mika' });
  await confirmOperation(own.db, tenant, {
    ...{ token: token ?? '', by: 'mika', cancelDeliveries: noDeliveries },
  });
  expect(await columnOf(own.db, 'select status from scheduled_action')).toEqual(['cancelled', 'cancelled']);
});

test('a wait for a link with such an id is ended by the click on that link, and by no other [SEM-116]', async () => {
  const { linkId } = await insertThings(own.db, tenant);
  const { linkId: otherLink } = await insertThings(own.db, tenant);
  expect([linkId, otherLink]).toEqual([FIRST, NEXT]);
  await schedule(own.db, tenant, { delay: waitingFor({ source: 'link', refId: linkId, branch: 'clicked' }) });
  const tell = async (refId: string) => {
    const click = await insertFact(own.db, tenant, { table: 'link_click', tracked_link_id: refId });
    const fact = { ...tenant, userId: lineUserId(1), source: 'link', refId, eventId: crypto.randomUUID() } as const;
    const [occurredAt] = await columnOf(
      own.db,
      `select to_json(occurred_at) #>> '{}' from link_click where id = ${click.id}`,
    );
    return inTransaction(own.db, async (tx) => {
      await lockUsers(tx, [fact]);
      return checkAndCompleteDelayWait(tx, [{ ...fact, occurredAt: occurredAt ?? '' }]);
    });
  };
  expect(await tell(NEXT)).toEqual([]);
  expect(await tell(FIRST)).toMatchObject([{ scheduledActionId: FIRST, result: 'completed' }]);
  expect(await columnOf(own.db, `select payload ->> 'tracked_link_id' from event_outbox order by id`)).toEqual([
    NEXT,
    FIRST,
  ]);
});

import { type AttentionToOpen, closeAttention, listAttention, openAttention } from '@dueline/attention';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const item = (refId: string, changes: Partial<AttentionToOpen> = {}): AttentionToOpen => ({
  ...tenant,
  kind: 'action_failed',
  refId,
  userId: lineUserId(1),
  reasonCode: 'decision_failed',
  ...changes,
});
const open = (...items: AttentionToOpen[]) => inTransaction(own.db, (tx) => openAttention(tx, items));
const BY = { closedBy: 'mina', resolution: 'sent by hand' };
type Closing = Parameters<typeof closeAttention>[2];
const close = (closing: Closing, whose = tenant) => inTransaction(own.db, (tx) => closeAttention(tx, whose, closing));
const refIds = async (status?: 'open' | 'resolved' | 'dismissed') =>
  (await listAttention(own.db, tenant, status === undefined ? {} : { status })).map(({ refId }) => refId);

test('what is opened is listed whole, oldest first, in pages, for its account only', async () => {
  await open(item('7', { detail: { retryCount: 3 } }), item('8', { kind: 'event_dead', userId: null }));
  const other = await insertTenant(own.db);

  const [first, second] = await listAttention(own.db, tenant);
  expect(first).toMatchObject({ kind: 'action_failed', refId: '7', userId: lineUserId(1), status: 'open' });
  expect(first).toMatchObject({ reasonCode: 'decision_failed', detail: { retryCount: 3 }, closedAt: null });
  expect(Date.parse(first?.openedAt ?? '')).toBeGreaterThan(Date.now() - 60_000);
  expect(second).toMatchObject({ kind: 'event_dead', refId: '8', userId: null, detail: null });
  expect(await listAttention(own.db, tenant, { limit: 1 })).toEqual([first]);
  expect(await listAttention(own.db, tenant, { after: first?.id ?? '' })).toEqual([second]);
  expect(await listAttention(own.db, other)).toEqual([]);
});

test('a row has one open item however often it fails, also of two at the same moment; after that is closed it gets another', async () => {
  await Promise.all([open(item('7')), open(item('7'), item('7', { kind: 'event_dead' })), open()]);
  expect(await refIds()).toEqual(['7', '7']);
  await close({ kind: 'action_failed', refIds: ['7'], status: 'resolved', ...BY });
  await open(item('7'));
  expect(await refIds()).toEqual(['7', '7']);
  expect(await refIds('resolved')).toEqual(['7']);
});

test('an item is closed once, with who and why; of two at the same moment one closes it, and nobody another tenant’s', async () => {
  await open(item('7'), item('8'));
  const [first] = await listAttention(own.db, tenant);
  const ids = first === undefined ? [] : [first.id];
  expect(await close({ ids, status: 'dismissed', ...BY }, await insertTenant(own.db))).toEqual([]);

  const closed = await Promise.all([
    close({ ids, status: 'dismissed', ...BY }),
    close({ ids, status: 'dismissed', ...BY }),
  ]);

  expect(closed.flat()).toEqual(ids);
  expect(await listAttention(own.db, tenant, { status: 'dismissed' })).toMatchObject([
    { refId: '7', closedBy: 'mina', resolution: 'sent by hand', closedAt: expect.any(String) },
  ]);
  expect(await refIds()).toEqual(['8']);
});

test('an item is opened with what ended, or not at all', async () => {
  const failing = inTransaction(own.db, async (tx) => {
    await openAttention(tx, [item('7')]);
    throw new Error('it did not end');
  });
  await expect(failing).rejects.toThrow('it did not end');
  expect(await refIds()).toEqual([]);
});

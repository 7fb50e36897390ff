import { stopAccount } from '@dueline/accounts';
import { dueCampaign } from '@dueline/campaigns/testing';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, insertTenant, lineUserId, testDb } from '@dueline/db/testing';
import { createChunkDeliveries, createDeliveries, settleDeliveries, startDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { type ExportRecord, exportRecord } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { exportHistory } from '../src/chaos/export.ts';

const OPTIONS = { toProductTime: (ms: number) => ms + 60_000, attemptDeadlineMs: 1_000 };
const text = (lid: string) => [{ type: 'text' as const, text: `hello [[lid:${lid}]]` }];

async function recordsOf(db: Db): Promise<ExportRecord[]> {
  const records: ExportRecord[] = [];
  for await (const record of exportHistory(db, OPTIONS)) records.push(record);
  return records;
}

test('what was planned, asked and stopped is exported in the form that the checker takes, with the names of its keys', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await insertTenant(db);
  const [channelId] = await columnOf(db, 'select channel_id from line_oa');
  const common = { ...tenant, channelId: String(channelId) };
  const { id: campaignId } = await dueCampaign(db, tenant);
  const request = { actionType: 'send_message' as const, actionConfig: { messages: text('now') } };
  const chunk = { ...common, campaignId, chunkNo: 0, messages: text('all'), deliverUntil: null };
  const [ticket] = await inTransaction(db, async (tx) => [
    ...(await createDeliveries(tx, [deliveryToCreate(tenant, { ...common, logicalId: 'e:1', request })])),
    ...(await createChunkDeliveries(tx, [{ ...chunk, userIds: [lineUserId(1), lineUserId(2)] }])),
    ...(await createChunkDeliveries(tx, [{ ...chunk, chunkNo: 1, userIds: null }])),
  ]);
  if (ticket === undefined) throw new Error('nothing was planned');
  const start = { claimedBy: 'test:1', leaseSeconds: 5, settleSeconds: 0 };
  const [started] = await startDeliveries(db, tenant, { tickets: [ticket], start });
  if (started === undefined) throw new Error('nothing was started');
  const acceptedRequestId = crypto.randomUUID();
  await settleDeliveries(db, [
    { started, result: { outcome: 'already', lineRequestId: crypto.randomUUID(), acceptedRequestId } },
  ]);
  await inTransaction(db, (tx) => stopAccount(tx, { lineOaId: tenant.lineOaId }, { by: 'test', reason: null }));

  const records = await recordsOf(db);

  expect(records.map((record) => exportRecord.parse(record))).toEqual(records);
  const user = lineUserId(1);
  expect(records).toMatchObject([
    { kind: 'planned', lid: 'now', user, channelId },
    { kind: 'state', lid: 'now', user, state: 'accepted', retryKey: started.retryKey },
    {
      ...{ kind: 'attempt', lid: 'now', retryKey: started.retryKey, outcome: 'ALREADY', acceptedRequestId },
      keyName: `lrk1/${channelId}/event/e:1/1/push/0/`,
    },
    ...[user, lineUserId(2), '*'].flatMap((each) => [
      { kind: 'planned', lid: 'all', user: each },
      { kind: 'state', lid: 'all', user: each, state: 'planned' },
    ]),
    { kind: 'stop', verb: 'pause', channelId },
  ]);
});

test('a message without a mark is refused with its delivery', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await insertTenant(db);
  await inTransaction(db, (tx) => createDeliveries(tx, [deliveryToCreate(tenant)]));

  await expect(recordsOf(db)).rejects.toThrow(/delivery 1 carry no \[\[lid:…\]\]/);
});

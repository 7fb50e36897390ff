import { openAttention } from '@dueline/attention';
import { closeCampaigns } from '@dueline/campaigns';
import { inTransaction } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { campaignsOf } from './campaigns-support.ts';
import { startCampaigns } from './healthy-campaigns.ts';

let own: TestDb;
let id: string;
beforeEach(async () => {
  own = await testDb();
  id = await needingAPerson();
});
afterEach(() => own[Symbol.asyncDispose]());

const campaigns = (...args: string[]) => campaignsOf(own)(...args);
const query = (text: string) => own.db.$client.query(text);

/** Of a campaign of two requests one was too late, and of the other nobody knows; a person was told of it, and of that one. */
async function needingAPerson(): Promise<string> {
  const tenant = await startCampaigns(own.db);
  const [campaignId = ''] = (await columnOf(own.db, `select id from campaign where cast_type = 'multicast'`)).map(
    String,
  );
  await query(`update delivery set status = case chunk_no when 0 then 'expired' else 'unknown' end, fence = fence + 1, reason_code = 'x'
                where campaign_id = ${campaignId}`);
  const unknown = await columnOf(own.db, `select id from delivery where status = 'unknown'`);
  await closeCampaigns(own.db, {
    onClosed: (tx, closed) =>
      openAttention(
        tx,
        closed.map(({ id: refId }) => ({
          ...tenant,
          kind: 'campaign_not_sent',
          refId,
          userId: null,
          reasonCode: 'chunk_unknown',
        })),
      ),
  });
  await inTransaction(own.db, (tx) =>
    openAttention(
      tx,
      unknown.map((refId) => ({
        ...tenant,
        kind: 'delivery_unknown',
        refId: String(refId),
        userId: null,
        reasonCode: 'ambiguous',
      })),
    ),
  );
  return campaignId;
}

const requests = () =>
  columnOf(own.db, `select concat(status, epoch) from delivery where campaign_id = ${id} order by chunk_no`);
const items = () => columnOf(own.db, `select concat_ws(' ', kind, status, resolution) from attention_item order by id`);

test('a retry sends what failed, and closes the item of the campaign; what may have arrived needs a further word, which closes its own', async () => {
  expect(await campaigns('retry', id, '--why', 'line was down')).toMatchObject({
    code: 0,
    out: `campaign ${id}: sending`,
  });
  expect(await requests()).toEqual(['planned2', 'unknown1']);
  expect(await items()).toEqual(['campaign_not_sent resolved line was down', 'delivery_unknown open']);

  await query(
    `update campaign set status = 'sending', claimed_at = clock_timestamp(), fence = fence + 1 where id = ${id}`,
  );
  await query(`update delivery set status = 'expired', fence = fence + 1 where status = 'planned'`);
  await closeCampaigns(own.db);
  expect(await campaigns('retry', id, '--why', 'twice is fine', '--accept-duplicates')).toMatchObject({ code: 0 });
  expect(await requests()).toEqual(['planned3', 'planned2']);
  expect((await items())[1]).toBe('delivery_unknown resolved twice is fine');
  expect(
    await columnOf(
      own.db,
      `select concat_ws(' ', operation, after ->> 'requests', after ->> 'acceptDuplicates') from audit_log order by id`,
    ),
  ).toEqual(['campaign_retry 1 false', 'campaign_retry 2 true']);
});

test.for([
  ['resolve', 'sent with unknown', ['expired1', 'unknown1']],
  ['cancel', 'cancelled partial', ['expired1', 'unknown1']],
] as const)('%s leaves everything as it is, and closes both items', async ([verb, says, left]) => {
  expect(await campaigns(verb, id, '--why', 'enough')).toMatchObject({ code: 0, out: `campaign ${id}: ${says}` });
  expect(await requests()).toEqual(left);
  expect(await items()).toEqual(['campaign_not_sent dismissed enough', 'delivery_unknown dismissed enough']);
  expect(await campaigns(verb, id, '--why', 'enough')).toMatchObject({
    code: 1,
    out: expect.stringContaining('wrong_status'),
  });
});

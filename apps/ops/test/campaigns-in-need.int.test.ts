import { openAttention } from '@dueline/attention';
import { closeCampaigns } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
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

/** A campaign that a person was told of, and that stands so. */
async function toldOf(status: 'needs_attention' | 'paused', reasonCode: string): Promise<string> {
  const [tenant] = (
    await own.db.$client.query(`select organization_id as "organizationId", id as "lineOaId" from line_oa`)
  ).rows;
  await query(
    'update attention_item set status = $$dismissed$$, closed_at = app_now(), closed_by = $$x$$, resolution = $$x$$',
  );
  const { id: campaignId } = await dueCampaign(own.db, tenant);
  for (const to of ['sending', status])
    await query(
      `update campaign set status = '${to}', fence = fence + 1, reason_code = '${reasonCode}', claimed_at = clock_timestamp() where id = ${campaignId}`,
    );
  const item = { ...tenant, kind: 'campaign_not_sent', refId: campaignId, userId: null, reasonCode } as const;
  await inTransaction(own.db, (tx) => openAttention(tx, [item]));
  return campaignId;
}

const stands = (of: string) =>
  columnOf(
    own.db,
    `select concat_ws(' ', campaign.status, campaign.reason_code, item.status, item.closed_by)
       from campaign join attention_item as item on item.ref_id = campaign.id::text and item.kind = 'campaign_not_sent'
      where campaign.id = ${of}`,
  );
const tokenOf = async (of: string): Promise<string> => JSON.parse((await campaigns('preview', of, '--json')).out).token;

test.for([
  ['send-now', 'needs_attention', 'scheduled resolved mika'],
  ['schedule', 'needs_attention', 'scheduled resolved mika'],
  ['edit', 'needs_attention', 'draft resolved mika'],
  ['reschedule', 'needs_attention', 'scheduled resolved mika'],
  ['resume', 'paused', 'scheduled resolved mika'],
  ['cancel', 'paused', 'cancel by_person dismissed mika'],
] as const)('%s is a way out of %s that closes the item of the campaign', async ([verb, status, says]) => {
  const held = await toldOf(status, status === 'paused' ? 'error_rate' : 'quota_short');
  const words = {
    'send-now': async () => ['--confirm', await tokenOf(held)],
    schedule: async () => ['--at', '2099-01-01T00:00:00Z', '--confirm', await tokenOf(held)],
    edit: async () => ['--text', 'other words'],
    reschedule: async () => ['--at', '2099-01-01T00:00:00Z'],
    resume: async () => [],
    cancel: async () => [],
  };
  expect(await campaigns(verb, held, ...(await words[verb]()))).toMatchObject({ code: 0 });
  expect(await stands(held)).toEqual([says]);
});

test('another name leaves a campaign that needs a person, and its item, as they are', async () => {
  const held = await toldOf('needs_attention', 'quota_short');
  expect(await campaigns('edit', held, '--name', 'other name')).toMatchObject({ code: 0 });
  expect(await stands(held)).toEqual(['needs_attention quota_short open']);
});

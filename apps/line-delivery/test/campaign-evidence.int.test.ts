import { previewCampaign, verifyEvidence, writeEvidence } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { insertTenant, testDb } from '@dueline/db/testing';
import { retryKey } from '@dueline/deliveries';
import { nthUserId } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { CHANNEL, claimOne, stage, startedTo } from './campaign-stage.ts';

const user = (n: number) => nthUserId('e', n);

async function evidenceOf(db: Db, tenant: Tenant, campaignId: string): Promise<string[]> {
  const lines: string[] = [];
  await writeEvidence(db, tenant, { campaignId, write: (line) => lines.push(line) });
  return lines;
}
const verify = (lines: readonly string[]) =>
  verifyEvidence(lines, {
    keyOf: ({ channelId, campaignId, epoch, endpoint, chunkNo, splitPath }) =>
      retryKey({ channelId, kind: 'campaign', logicalId: campaignId, epoch, endpoint, ordinal: chunkNo, splitPath }),
  });

const none = { accepted: 0, invalid: 0, refused: 0, unknown: 0, expired: 0, cancelled: 0, open: 0 };

test('the evidence of a campaign names every request, sums them up, and holds when it is checked', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 1_250);
  on.simulator.faults.set({
    rules: [
      { id: 'f', match: { endpoint: 'multicast', bodyContains: user(700) }, effect: { type: 'status', status: 400 } },
    ],
  });
  await on.sendDue();
  const lines = await evidenceOf(db, on.tenant, campaignId);
  const [head, ...rest] = lines.map((line) => JSON.parse(line));
  expect(head).toMatchObject({
    line: 'campaign',
    campaignId,
    name: 'campaign',
    status: 'sent',
    plannedCount: 1_250,
    channelId: CHANNEL.channelId,
  });
  expect(head.messages).toEqual([{ type: 'text', text: '春 🌸 [[lid:spring]]' }]);
  expect(rest.at(-1)).toMatchObject({ line: 'end', people: { ...none, accepted: 1_249, invalid: 1 } });
  const accepted = rest.filter(({ status }) => status === 'accepted').map(({ lineRequestId }) => lineRequestId);
  const served = [...on.simulator.ledger.requests()].map(({ requestId }) => requestId);
  expect(served).toEqual(expect.arrayContaining(accepted));
  expect(await verify(lines)).toMatchObject({
    campaignId,
    problems: [],
    totals: { people: { accepted: 1_249, invalid: 1 } },
  });
});

test('what was written cannot be changed without being found', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 1_100);
  await on.sendDue();
  const lines = await evidenceOf(db, on.tenant, campaignId);
  const changes: [string, (line: string, n: number) => string | undefined, string][] = [
    ['another count', (line, n) => (n === 1 ? line.replace('"people":500', '"people":499') : line), 'were frozen'],
    [
      'another key',
      (line, n) => (n === 2 ? line.replaceAll(/"retryKey":"[0-9a-f]/g, '"retryKey":"z') : line),
      'retry key',
    ],
    ['a request less', (line, n) => (n === 2 ? undefined : line), 'follows on'],
    ['another status', (line, n) => (n === 3 ? line.replace('"accepted"', '"unknown"') : line), 'totals'],
    ['another name', (line, n) => (n === 0 ? line.replace('"name":"campaign"', '"name":"別"') : line), 'hash'],
    ['no end', (line, n) => (n === 4 ? undefined : line), 'end is missing'],
    ['no campaign', (line, n) => (n === 0 ? undefined : line), 'first line'],
    ['rubbish', (line, n) => (n === 2 ? 'rubbish' : line), 'not a line'],
    ['something behind', (line, n) => (n === 4 ? `${line}\n${lines[1]}` : line), 'behind the end'],
    ['a request twice', (line, n) => (n === 1 ? `${line}\n${line}` : line), 'stands twice'],
  ];
  expect((await verify(lines)).problems).toEqual([]);
  for (const [what, change, found] of changes) {
    const changed = lines.flatMap((line, n) => change(line, n)?.split('\n') ?? []);
    expect(changed, what).not.toEqual(lines);
    expect((await verify(changed)).problems, what).toEqual(expect.arrayContaining([expect.stringContaining(found)]));
  }
});

test('evidence of what has not begun, of a broadcast, and of another account', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const { id: campaignId } = await dueCampaign(db, on.tenant);
  expect(await verify(await evidenceOf(db, on.tenant, campaignId))).toMatchObject({
    problems: [],
    totals: { requests: 0 },
  });
  await on.start(await claimOne(db));
  expect(await verify(await evidenceOf(db, on.tenant, campaignId))).toMatchObject({
    ...{ problems: [], totals: { requests: 1, people: null } },
  });
  expect(await evidenceOf(db, await insertTenant(db), campaignId)).toEqual([]);
  expect(await previewCampaign(db, on.tenant, { campaign: { id: campaignId, fence: '3' }, by: 'me' })).toBeUndefined();
});

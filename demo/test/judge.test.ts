import type { ReceiptRow } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { type Evidence, judge } from '../src/judge.ts';
import { type PlannedReceipt, planStory, receiptKey } from '../src/plan.ts';
import type { Act } from '../src/story.ts';

const T0 = Date.UTC(2026, 0, 1);
const act: Act = { atMs: 0, users: { first: 0, count: 2 }, set: {}, tell: '' };
const plan = (userId: string, delaySeconds: number): PlannedReceipt => ({
  channelId: 'c',
  userId,
  lid: 'l',
  cause: act,
  delaySeconds,
});
const now = plan('U1', 0);
const later = plan('U2', 2);

let seq = 0;
const receipt = (user: string, afterMs: number, lid = 'l'): ReceiptRow => {
  seq += 1;
  return {
    seq,
    acceptSeq: seq,
    channelId: 'c',
    user,
    lid,
    at: new Date(T0 + afterMs).toISOString(),
    requestId: '',
    retryKey: null,
  };
};

const evidence = (receipts: ReceiptRow[], parts: Partial<Evidence> = {}): Evidence => ({
  planned: new Map([now, later].map((planned) => [receiptKey(planned), planned])),
  cancelledPlanned: 1,
  receipts,
  causeTimes: new Map([[act, new Map([['c', T0]])]]),
  executeAt: new Map([[receiptKey(later), T0 + 2_000.4]]),
  cancelled: 1,
  waits: { unlocked: 1, expired: 1, late: 1 },
  waitsPlanned: { unlocked: 1, expired: 1, late: 1 },
  loops: 1,
  loopsPlanned: 1,
  campaignsSent: 2,
  campaignsPlanned: 2,
  violations: 0,
  ...parts,
});

const good = () => [receipt('U1', 3), receipt('U2', 2_012)];

test('all received once and on time is ok, with the lateness of the delayed ones', () => {
  expect(judge(evidence(good()))).toMatchObject({
    ok: true,
    planned: 2,
    received: 2,
    latenessMs: { p50: 11.6, p99: 11.6, max: 11.6 },
  });
});

test.for([
  ['a second receipt of the same', [...good(), receipt('U1', 9)], {}, { duplicates: 1 }],
  ['a missing receipt', good().slice(0, 1), {}, { lost: 1, received: 1 }],
  ['a receipt before its time', [receipt('U1', 3), receipt('U2', 1_999)], {}, { early: 1 }],
  ['a receipt that nobody planned', [...good(), receipt('U3', 5)], {}, { unexpected: 1 }],
  ['another message to a planned person', [...good(), receipt('U1', 5, 'other')], {}, { unexpected: 1 }],
  ['a reminder that was not cancelled', good(), { cancelled: 0 }, { cancelled: 0 }],
  ['a loop that was not stopped', good(), { loops: 0 }, {}],
  ['a wait that went the other way', good(), { waits: { unlocked: 0, expired: 2, late: 1 } }, {}],
  ['a campaign that did not end as sent', good(), { campaignsSent: 1 }, { campaignsSent: 1 }],
  ['a breach of the contract', good(), { violations: 1 }, { violations: 1 }],
] as const)('%s is not ok', ([, receipts, parts, expected]) => {
  expect(judge(evidence([...receipts], parts))).toMatchObject({ ok: false, ...expected });
});

test('the story plans a broadcast to 5,000, a multicast to 2,500, at least 200 messages at once, 200 later and 50 cancelled, each for one person once', () => {
  const { receipts, cancelled } = planStory();
  const campaigns = [...receipts.values()].filter(({ cause }) => 'castType' in cause);
  const planned = [...receipts.values()].filter(({ cause }) => !('castType' in cause));

  expect(campaigns.filter(({ lid }) => lid === 'broadcast')).toHaveLength(5_000);
  expect(campaigns.filter(({ lid }) => lid === 'multicast')).toHaveLength(2_500);
  expect(planned.filter(({ delaySeconds }) => delaySeconds === 0).length).toBeGreaterThanOrEqual(200);
  expect(planned.filter(({ delaySeconds }) => delaySeconds > 0).length).toBeGreaterThanOrEqual(200);
  expect(cancelled).toBeGreaterThanOrEqual(50);
});

import { expect, test } from 'vitest';
import {
  type ByEnd,
  CAMPAIGN_STANDINGS,
  type CampaignFacts,
  type CampaignStanding,
  campaignStanding,
} from '../src/index.ts';

const NONE: ByEnd = { accepted: 0, invalid: 0, refused: 0, unknown: 0, expired: 0, cancelled: 0, open: 0 };

type Case = readonly [
  standing: CampaignStanding,
  campaign: Partial<Omit<CampaignFacts, 'requests'>>,
  requests?: Partial<ByEnd>,
];

const CASES: readonly Case[] = [
  ['draft', { status: 'draft' }],
  ['scheduled', { status: 'scheduled' }],
  ['scheduled', { status: 'scheduled', account: 'paused_quota' }],
  ['sending', { status: 'sending' }],
  ['sending', { status: 'sending', isFrozen: true }, { accepted: 3, open: 1 }],
  ['sending', { status: 'scheduled', isFrozen: true }, { accepted: 3, open: 1 }],
  ['paused_quota', { status: 'sending', isFrozen: true, account: 'paused_quota' }, { accepted: 3, open: 1 }],
  ['paused_auth', { status: 'scheduled', isFrozen: true, account: 'paused_auth' }, { open: 1 }],
  ['paused', { status: 'sending', isFrozen: true, account: 'paused_by_person' }, { open: 1 }],
  ['stopped', { status: 'sending', isFrozen: true, account: 'stopped' }, { open: 1 }],
  ['paused', { status: 'paused', isFrozen: true }, { open: 1 }],
  ['paused', { status: 'paused', isFrozen: true, reasonCode: 'error_rate' }, { open: 1 }],
  ['paused_quota', { status: 'paused', reasonCode: 'quota' }],
  ['paused_auth', { status: 'paused', isFrozen: true, reasonCode: 'auth' }, { open: 1 }],
  ['sent', { status: 'sent', isFrozen: true }, { accepted: 3 }],
  ['sent', { status: 'sent', isFrozen: true }, { accepted: 3, invalid: 2 }],
  ['sent', { status: 'sent', isFrozen: true }],
  ['sent_partly', { status: 'sent', isFrozen: true }, { accepted: 3, expired: 1 }],
  ['sent_partly', { status: 'sent', isFrozen: true }, { accepted: 3, refused: 1 }],
  ['sent_partly', { status: 'sent', isFrozen: true }, { accepted: 3, cancelled: 1 }],
  ['sent_with_unknown', { status: 'sent', isFrozen: true }, { accepted: 3, unknown: 1 }],
  ['sent_with_unknown', { status: 'sent', isFrozen: true }, { accepted: 3, expired: 1, unknown: 1 }],
  ['failed_content', { status: 'failed', isFrozen: true, reasonCode: 'content_refused' }, { refused: 3 }],
  ['failed_late', { status: 'failed', reasonCode: 'too_late' }],
  ['failed', { status: 'failed' }],
  ['cancelled', { status: 'cancel' }],
  ['cancelled', { status: 'cancel', isFrozen: true, isCancelled: true }, { cancelled: 3 }],
  ['cancelled_partial', { status: 'cancel', isFrozen: true, isCancelled: true }, { accepted: 1, cancelled: 2 }],
  ['cancelled_partial', { status: 'cancel', isFrozen: true, isCancelled: true }, { unknown: 1, cancelled: 2 }],
  ['stopping', { status: 'sending', isFrozen: true, isCancelled: true }, { accepted: 1, open: 1, cancelled: 1 }],
  ['needs_attention', { status: 'needs_attention', isFrozen: true, reasonCode: 'chunk_unknown' }, { unknown: 1 }],
];

test.for(CASES)('a campaign is %s when it is %j with requests %j', ([expected, campaign, requests]) => {
  const facts = {
    status: 'draft',
    reasonCode: null,
    isFrozen: false,
    isCancelled: false,
    account: 'active',
  } as const;
  expect(campaignStanding({ ...facts, ...campaign, requests: { ...NONE, ...requests } })).toBe(expected);
});

test('every word for how a campaign stands has a campaign that stands so', () => {
  expect([...new Set(CASES.map(([standing]) => standing))].sort()).toEqual([...CAMPAIGN_STANDINGS].sort());
});

import type { CampaignStatus } from '@dueline/contracts';
import type { ByEnd } from './result.ts';

/** How a campaign stands, in one word. None of them says more than is known: `accepted` is LINE's word, not the person's. */
export const CAMPAIGN_STANDINGS = [
  'draft',
  'scheduled',
  'sending',
  /** A person, or an error rate, paused it; what is on its way ends. */
  'paused',
  /** Waits until LINE has room for messages in the month. */
  'paused_quota',
  /** Waits until LINE takes the account's credentials. */
  'paused_auth',
  /** Waits because its account, or the organization, was stopped. */
  'stopped',
  /** Everybody was accepted, or is nobody whom LINE takes. */
  'sent',
  /** It is over, and somebody was not reached: too late, refused or cancelled. */
  'sent_partly',
  /** It is over, and of somebody nobody knows whether LINE took it. */
  'sent_with_unknown',
  /** LINE takes the content for nobody. */
  'failed_content',
  /** It had not started when its last instant came. */
  'failed_late',
  'failed',
  /** Somebody cancelled it, and something is still on its way or in doubt. */
  'stopping',
  /** Nothing had gone out. */
  'cancelled',
  /** Something had gone out, or may have. */
  'cancelled_partial',
  'needs_attention',
] as const;
export type CampaignStanding = (typeof CAMPAIGN_STANDINGS)[number];

export interface CampaignFacts {
  readonly status: CampaignStatus;
  readonly reasonCode: string | null;
  readonly isFrozen: boolean;
  /** Somebody asked for its cancel. */
  readonly isCancelled: boolean;
  /** Requests by what became of them; all zero before the freeze. */
  readonly requests: ByEnd;
  /** line_oa.status, or `stopped` when the account or its organization is. */
  readonly account: string;
}

/** What every view calls the state of a campaign. Pure. */
export function campaignStanding(campaign: CampaignFacts): CampaignStanding {
  const { status, reasonCode, isFrozen, isCancelled, requests } = campaign;
  if ((isCancelled || status === 'cancel') && requests.open > 0) return 'stopping';
  switch (status) {
    case 'draft':
    case 'needs_attention':
      return status;
    case 'scheduled':
      return isFrozen ? whileUnderWay(campaign) : 'scheduled';
    case 'sending':
      return whileUnderWay(campaign);
    case 'paused':
      return pausedFor(reasonCode);
    case 'sent':
      return howSent(requests);
    case 'failed':
      return reasonCode === 'content_refused' ? 'failed_content' : reasonCode === 'too_late' ? 'failed_late' : 'failed';
    case 'cancel':
      return requests.accepted + requests.unknown > 0 ? 'cancelled_partial' : 'cancelled';
  }
}

const ACCOUNT_WAITS: Readonly<Record<string, CampaignStanding>> = {
  stopped: 'stopped',
  paused_quota: 'paused_quota',
  paused_auth: 'paused_auth',
  paused_by_person: 'paused',
};

const whileUnderWay = ({ account }: CampaignFacts): CampaignStanding => ACCOUNT_WAITS[account] ?? 'sending';

function pausedFor(reasonCode: string | null): CampaignStanding {
  if (reasonCode?.includes('quota') === true) return 'paused_quota';
  return reasonCode?.includes('auth') === true ? 'paused_auth' : 'paused';
}

function howSent({ unknown, refused, expired, cancelled }: ByEnd): CampaignStanding {
  if (unknown > 0) return 'sent_with_unknown';
  return refused + expired + cancelled > 0 ? 'sent_partly' : 'sent';
}

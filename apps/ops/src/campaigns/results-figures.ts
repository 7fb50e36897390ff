import type { PastDeed } from '@dueline/accounts';
import type { ByEnd, CampaignDetail, CampaignReport } from '@dueline/campaigns';
import type { CampaignClicks, ClickCount } from '@dueline/link-tracking';

/** All that is known of what came of a campaign. */
export interface CampaignResults {
  readonly campaign: CampaignDetail;
  readonly report: CampaignReport;
  readonly clicks: CampaignClicks;
  /** What people did to it, the earliest first. */
  readonly deeds: readonly PastDeed[];
}

/** Ends in the order in which people ask for them. */
export const ENDS = [
  'accepted',
  'open',
  'unknown',
  'refused',
  'expired',
  'cancelled',
  'invalid',
] as const satisfies readonly (keyof ByEnd)[];

export const totalOf = (counts: ByEnd): number => ENDS.reduce((sum, end) => sum + counts[end], 0);

/** The share of those for whom LINE took the message that clicked: somewhere from `least` to `most`, as far as people are known. */
export interface ClickThrough {
  readonly least: number;
  readonly most: number;
}

/** Null: nobody was accepted, or LINE alone knows how many. Who clicked twice without being known may be one person or two. */
export function clickThroughOf({ people, byUnknown }: ClickCount, accepted: number | undefined): ClickThrough | null {
  if (accepted === undefined || accepted === 0) return null;
  const least = byUnknown > 0 ? Math.max(1, people) : people;
  return { least: Math.min(1, least / accepted), most: Math.min(1, (people + byUnknown) / accepted) };
}

/** Seconds from the freeze to the last message that LINE took, of product time; null: not both are known. */
export function sendingSeconds({ campaign: { frozenAt }, report: { lastAcceptedAt } }: CampaignResults): number | null {
  if (frozenAt === null || lastAcceptedAt === null) return null;
  return Math.max(0, (Date.parse(lastAcceptedAt) - Date.parse(frozenAt)) / 1_000);
}

export interface PausedPeriod {
  readonly from: string;
  /** Null: it is paused still, or was cancelled while it was. */
  readonly to: string | null;
  readonly reason: string | null;
}

/** When people paused it, and until when, from the trail of what they did. */
export function pausedPeriods(deeds: readonly PastDeed[]): PausedPeriod[] {
  const periods: PausedPeriod[] = [];
  for (const { operation, at, reason } of deeds) {
    const open = periods.at(-1);
    if (operation === 'campaign_pause') periods.push({ from: at, to: null, reason });
    else if (open?.to === null && ENDS_A_PAUSE.has(operation)) periods[periods.length - 1] = { ...open, to: at };
  }
  return periods;
}

const ENDS_A_PAUSE: ReadonlySet<string> = new Set(
  ['resume', 'cancel', 'reschedule', 'unschedule', 'delete'].map((deed) => `campaign_${deed}`),
);

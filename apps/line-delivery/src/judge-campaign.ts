import { openAttention } from '@dueline/attention';
import { type ErrorLimits, pauseFailingCampaign } from '@dueline/campaigns';
import { type Db, inTransaction } from '@dueline/db';
import type { Log } from '@dueline/mq';

/** Requests of a campaign are counted so often, at most: each look reads what ended of it. */
const LOOK_EVERY_MS = 1_000;
/** Campaigns whose last look is remembered. */
const KEPT = 1_000;

export interface JudgeDeps {
  readonly db: Db;
  readonly log: Log;
  readonly limits: ErrorLimits;
  readonly onPaused?: (() => void) | undefined;
}

/**
 * Looks whether a campaign of which a request was refused must pause itself, and tells a person why, with the numbers, in the same
 * transaction. Looks once a second at a campaign; the next refusal makes up for what was passed over.
 */
export function createCampaignJudge({ db, log, limits, onPaused }: JudgeDeps) {
  const lookedAt = new Map<string, number>();
  return async (campaignId: string): Promise<void> => {
    const now = performance.now();
    if (now - (lookedAt.get(campaignId) ?? Number.NEGATIVE_INFINITY) < LOOK_EVERY_MS) return;
    if (lookedAt.size >= KEPT) lookedAt.clear();
    lookedAt.set(campaignId, now);
    const failing = await inTransaction(db, async (tx) => {
      const paused = await pauseFailingCampaign(tx, { campaignId, limits });
      if (paused === undefined) return undefined;
      const { organizationId, lineOaId, refused, ended, left } = paused;
      await openAttention(tx, [
        {
          ...{ organizationId, lineOaId, kind: 'campaign_not_sent', refId: campaignId, userId: null },
          ...{ reasonCode: 'error_rate', detail: { refused, ended, left, percent: limits.percent } },
        },
      ]);
      return paused;
    });
    if (failing === undefined) return;
    onPaused?.();
    log.warn({ ...failing }, 'too many requests of a campaign were refused: it is paused');
  };
}

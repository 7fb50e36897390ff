import { forgetThrottled, noteThrottled } from '@dueline/accounts';
import type { Db } from '@dueline/db';
import type { AttemptResult, StartedSend } from '@dueline/deliveries';
import type { LineAccountClient, MonthlyQuota, ThrottleReason } from '@dueline/line-client';
import type { Pauses } from './pauses.ts';
import { peopleOf } from './people-of.ts';

/** Between two tries while LINE's numbers leave room: a narrowcast holds messages back, and lets go of them soon. */
const RETRY_MS = 60_000;
/** How long that is believed. */
const HELD_BACK_SECONDS = 30 * 60;
/** How long a 429 of an unknown text is taken for one of the rate. */
const AS_RATE_SECONDS = 15 * 60;
/** Between two probes of what may have been accepted before the month was used up, while the account is paused for it. */
const PROBE_MS = 60 * 60_000;

/** What a 429 is of, and what is known around it. */
export interface Throttled {
  readonly reason: ThrottleReason;
  readonly verdict: StartedSend['verdict'];
  /** Messages that the request wanted; of a broadcast at least one. */
  readonly wanted: number;
  /** Since the first of a row of them. */
  readonly seconds: number;
  /** Undefined: LINE did not tell, or was not asked. */
  readonly quota: MonthlyQuota | undefined;
}

/** How long the delivery is held: `holdMs` undefined is the usual back-off. */
type Hold = Pick<AttemptResult, 'holdMs' | 'whilePausedMs'>;

/** What becomes of it. */
export interface ThrottleStep extends Hold {
  readonly pause: 'monthly_limit' | 'held_back' | undefined;
}

/** Whether LINE's numbers must be asked for. */
const needsQuota = ({ reason, seconds }: Pick<Throttled, 'reason' | 'seconds'>): boolean =>
  reason === 'monthly' || (reason === 'unknown' && seconds >= AS_RATE_SECONDS);

/** Whether the month has no room for the request. */
export const isUsedUp = (quota: MonthlyQuota | undefined, wanted: number): boolean =>
  quota !== undefined && quota.value !== null && (quota.used >= quota.value || quota.used + wanted > quota.value);

/** What follows a 429. Pure. */
export function throttleStep(throttled: Throttled): ThrottleStep {
  const { reason, verdict, wanted, seconds, quota } = throttled;
  if (!needsQuota(throttled)) return { pause: undefined };
  const isHeldBack = seconds >= HELD_BACK_SECONDS;
  const pause = isUsedUp(quota, wanted) ? 'monthly_limit' : isHeldBack ? 'held_back' : undefined;
  const isProbed = verdict === 'ambiguous' && (reason === 'monthly' || pause !== undefined);
  return { pause, holdMs: RETRY_MS, ...(isProbed && { whilePausedMs: PROBE_MS }) };
}

export interface ThrottleDeps {
  readonly db: Db;
  readonly line: Pick<LineAccountClient, 'monthlyQuota'>;
  readonly pauses: Pauses;
}

export interface ThrottledAnswer {
  readonly reason: ThrottleReason;
  readonly detail: string;
  readonly token: string;
}

/** Judges what LINE did not serve, and remembers whose accounts that were until LINE serves them again. */
export function createThrottleJudge({ db, line, pauses }: ThrottleDeps) {
  const throttled = new Set<string>();
  const asked = new Map<string, Promise<MonthlyQuota | undefined>>();
  const quotaOf = (lineOaId: string, token: string) => {
    const before = asked.get(lineOaId);
    if (before !== undefined) return before;
    const answer = line.monthlyQuota(token).finally(() => asked.delete(lineOaId));
    asked.set(lineOaId, answer);
    return answer;
  };
  return {
    /** Pauses the account if it must be. Returns how long the delivery is held. */
    async judge(delivery: StartedSend, { reason, detail, token }: ThrottledAnswer): Promise<Hold> {
      if (reason !== 'monthly' && reason !== 'unknown') return {};
      throttled.add(delivery.lineOaId);
      const seconds = await noteThrottled(db, delivery);
      const quota = needsQuota({ reason, seconds }) ? await quotaOf(delivery.lineOaId, token) : undefined;
      const wanted = peopleOf(delivery);
      const { pause, ...hold } = throttleStep({ reason, verdict: delivery.verdict, wanted, seconds, quota });
      if (pause !== undefined) {
        const shortage = { quota: quota?.value ?? null, used: quota?.used ?? null, wanted };
        await pauses.pause(delivery, { reasonCode: pause, reason: detail, shortage });
      }
      return hold;
    },
    /** LINE accepted a delivery of the account. */
    async accepted({ lineOaId }: Pick<StartedSend, 'lineOaId'>): Promise<void> {
      if (throttled.delete(lineOaId)) await forgetThrottled(db, { lineOaId });
    },
  };
}

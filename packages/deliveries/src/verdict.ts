import { fullJitterMs } from '@dueline/kernel';
import type { Verdict } from './start.ts';

/** How one attempt ended. `accepted` and `already` (LINE had accepted the key before) are success. */
export type AttemptOutcome = 'accepted' | 'already' | 'refused' | 'auth' | 'throttled' | 'not_reached' | 'ambiguous';

/** What becomes of the delivery: ended, or planned again after a wait in milliseconds of product time. */
export type NextStep = { readonly to: 'accepted' | 'refused' } | { readonly to: 'planned'; readonly waitMs: number };

/** After an ambiguous attempt the same request may still be on its way: it is given this long to arrive. */
const SETTLE_MS = 5_000;
/** Between probes of a key that LINE now refuses but may have accepted before. */
const PROBE_MS = 600_000;
const AMBIGUOUS = { baseMs: 2_000, capMs: 120_000 };
const NOT_SERVED = { baseMs: 1_000, capMs: 60_000 };

/**
 * What follows an attempt. Pure but for jitter.
 *
 * A refusal ends the delivery only while nothing before it is in doubt: it proves that *this* attempt reached nobody, not
 * an earlier one. Nothing else but acceptance ends it here; its key is repeated until `deliver_until` or the 23 hours.
 *
 * @param options.holdMs Whoever judged the attempt wants the delivery to be planned again after this, unless LINE accepted it.
 */
export function nextStep(
  outcome: AttemptOutcome,
  { verdict, attemptNo, holdMs }: { verdict: Verdict; attemptNo: number; holdMs?: number | undefined },
): NextStep {
  if (holdMs !== undefined && outcome !== 'accepted' && outcome !== 'already') return { to: 'planned', waitMs: holdMs };
  switch (outcome) {
    case 'accepted':
    case 'already':
      return { to: 'accepted' };
    case 'refused':
      return verdict === 'clean' ? { to: 'refused' } : { to: 'planned', waitMs: PROBE_MS };
    case 'ambiguous':
      return { to: 'planned', waitMs: SETTLE_MS + fullJitterMs(attemptNo - 1, AMBIGUOUS) };
    case 'auth':
    case 'throttled':
    case 'not_reached':
      return { to: 'planned', waitMs: fullJitterMs(attemptNo - 1, NOT_SERVED) };
  }
}

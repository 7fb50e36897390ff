import { isDeepStrictEqual } from 'node:util';
import type { ReceiptRow } from '@dueline/line-simulator';
import { type PlannedReceipt, receiptKey } from './plan.ts';
import type { CauseTimes } from './play.ts';

/** What became of those who were invited, as trigger_log tells it. */
export interface Waits {
  readonly unlocked: number;
  readonly expired: number;
  readonly late: number;
}

/** What came of the story, as LINE's side saw it. */
export interface Verdict {
  /** All as planned: everything received once, nothing early, nothing else, no breach of LINE's contract. */
  readonly ok: boolean;
  /** Messages that the story leads to; computed before it is played. */
  readonly planned: number;
  /** Of those, received at least once. */
  readonly received: number;
  /** Receipts beyond the first of the same message by the same person. */
  readonly duplicates: number;
  /** Planned and not received. */
  readonly lost: number;
  /** Received before their time: the act plus the delay, or the campaign's start. */
  readonly early: number;
  /** Received though not planned. */
  readonly unexpected: number;
  /** Reminders cancelled because their condition had turned false; planned is `cancelledPlanned`. */
  readonly cancelled: number;
  readonly cancelledPlanned: number;
  /** Waits that a click ended in time, that expired, and clicks that came too late; all three as planned in `waitsPlanned`. */
  readonly waits: Waits;
  readonly waitsPlanned: Waits;
  /** Chains of rules that fed each other until the guard stopped them; planned are `loopsPlanned`. */
  readonly loops: number;
  readonly loopsPlanned: number;
  /** Campaigns that ended as `sent`; planned are `campaignsPlanned`. */
  readonly campaignsSent: number;
  readonly campaignsPlanned: number;
  /** Breaches of LINE's contract that the simulator recorded. */
  readonly violations: number;
  /** LINE's acceptance minus execute_at of the delayed messages, in milliseconds. */
  readonly latenessMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

export interface Evidence {
  readonly planned: ReadonlyMap<string, PlannedReceipt>;
  readonly cancelledPlanned: number;
  readonly receipts: readonly ReceiptRow[];
  readonly causeTimes: CauseTimes;
  /** execute_at of delayed messages, in milliseconds since the epoch, by receipt key. */
  readonly executeAt: ReadonlyMap<string, number>;
  readonly cancelled: number;
  readonly waits: Waits;
  readonly waitsPlanned: Waits;
  readonly loops: number;
  readonly loopsPlanned: number;
  readonly campaignsSent: number;
  readonly campaignsPlanned: number;
  readonly violations: number;
}

const keyOf = ({ channelId, user, lid }: ReceiptRow): string => receiptKey({ channelId, userId: user, lid: lid ?? '' });

/** Compares what LINE delivered with what the story planned. Pure. */
export function judge(evidence: Evidence): Verdict {
  const { planned, receipts, cancelled, cancelledPlanned, waits, waitsPlanned } = evidence;
  const { loops, loopsPlanned, campaignsSent, campaignsPlanned, violations } = evidence;
  const counts = new Map<string, number>();
  for (const receipt of receipts) counts.set(keyOf(receipt), (counts.get(keyOf(receipt)) ?? 0) + 1);
  const received = [...planned.keys()].filter((key) => counts.has(key)).length;
  const duplicates = [...counts.values()].reduce((sum, count) => sum + count - 1, 0);
  const unexpected = [...counts.keys()].filter((key) => !planned.has(key)).length;
  const early = receipts.filter((receipt) => isEarly(receipt, evidence)).length;
  const lost = planned.size - received;
  const ok =
    lost === 0 &&
    duplicates === 0 &&
    early === 0 &&
    unexpected === 0 &&
    violations === 0 &&
    cancelled === cancelledPlanned &&
    isDeepStrictEqual(waits, waitsPlanned) &&
    loops === loopsPlanned &&
    campaignsSent === campaignsPlanned;
  return {
    ...{
      ok,
      planned: planned.size,
      received,
      duplicates,
      lost,
      early,
      unexpected,
      cancelled,
      cancelledPlanned,
      waits,
      waitsPlanned,
      loops,
      loopsPlanned,
      campaignsSent,
      campaignsPlanned,
      violations,
    },
    latenessMs: lateness(evidence),
  };
}

/** LINE stamps receipts in whole milliseconds, so the earliest honest stamp is the due instant cut to the millisecond. */
function isEarly(receipt: ReceiptRow, { planned, causeTimes }: Evidence): boolean {
  const plan = planned.get(keyOf(receipt));
  if (plan === undefined) return false;
  const causedAt = causeTimes.get(plan.cause)?.get(plan.channelId) ?? Number.POSITIVE_INFINITY;
  return Date.parse(receipt.at) < Math.floor(causedAt + plan.delaySeconds * 1_000);
}

function lateness({ receipts, executeAt }: Evidence): Verdict['latenessMs'] {
  const values = receipts
    .flatMap((receipt) => {
      const due = executeAt.get(keyOf(receipt));
      return due === undefined ? [] : [Date.parse(receipt.at) - due];
    })
    .sort((a, b) => a - b);
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99), max: quantile(values, 1) };
}

/** Nearest rank of ascending values, rounded to a tenth; 0 when there are none. */
function quantile(values: readonly number[], share: number): number {
  const value = values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0;
  return Math.round(value * 10) / 10;
}

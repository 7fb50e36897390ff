import type { QuotaSetting } from './config.ts';
import { monthOf } from './japan-time.ts';

/** Messages of the running month (UTC+9) against the monthly limit. */
export interface Quota {
  readonly setting: QuotaSetting;
  consumed(nowMs: number): number;
  allows(count: number, nowMs: number): boolean;
  consume(count: number, nowMs: number): void;
  /** Holds back so much until then, without being consumed. */
  reserve(count: number, untilMs: number): void;
  /** Infinity without a limit. */
  remaining(nowMs: number): number;
}

export function createQuota(setting: QuotaSetting): Quota {
  let month = '';
  let used = 0;
  let reserved: { count: number; untilMs: number }[] = [];
  const consumed = (nowMs: number) => {
    const current = monthOf(nowMs);
    if (current !== month) {
      month = current;
      used = 0;
    }
    return used;
  };
  const heldBack = (nowMs: number) => {
    if (reserved.length === 0) return 0;
    reserved = reserved.filter(({ untilMs }) => untilMs > nowMs);
    return reserved.reduce((sum, { count }) => sum + count, 0);
  };
  return {
    setting,
    consumed,
    allows: (count, nowMs) => setting.type === 'none' || consumed(nowMs) + heldBack(nowMs) + count <= setting.value,
    consume(count, nowMs) {
      used = consumed(nowMs) + count;
    },
    reserve(count, untilMs) {
      reserved.push({ count, untilMs });
    },
    remaining: (nowMs) =>
      setting.type === 'none' ? Infinity : Math.max(0, setting.value - consumed(nowMs) - heldBack(nowMs)),
  };
}

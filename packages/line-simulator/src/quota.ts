import type { QuotaSetting } from './config.ts';
import { monthOf } from './japan-time.ts';

/** Messages of the running month (UTC+9) against the monthly limit. */
export interface Quota {
  readonly setting: QuotaSetting;
  consumed(nowMs: number): number;
  allows(count: number, nowMs: number): boolean;
  consume(count: number, nowMs: number): void;
  /** Keeps messages from others until they are sent; a negative count gives them back. */
  reserve(count: number): void;
  /** Infinity without a limit. */
  remaining(nowMs: number): number;
}

export function createQuota(setting: QuotaSetting): Quota {
  let month = '';
  let used = 0;
  let reserved = 0;
  const consumed = (nowMs: number) => {
    const current = monthOf(nowMs);
    if (current !== month) {
      month = current;
      used = 0;
    }
    return used;
  };
  return {
    setting,
    consumed,
    allows: (count, nowMs) => setting.type === 'none' || consumed(nowMs) + reserved + count <= setting.value,
    consume(count, nowMs) {
      used = consumed(nowMs) + count;
    },
    reserve(count) {
      reserved += count;
    },
    remaining: (nowMs) =>
      setting.type === 'none' ? Infinity : Math.max(0, setting.value - consumed(nowMs) - reserved),
  };
}

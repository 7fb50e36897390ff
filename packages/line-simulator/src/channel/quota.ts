import type { QuotaSetting } from '../config.ts';
import { monthOf } from './japan-time.ts';

/** Messages of the running month (UTC+9) against the monthly limit. */
export interface Quota {
  readonly setting: QuotaSetting;
  consumed(nowMs: number): number;
  allows(count: number, nowMs: number): boolean;
  consume(count: number, nowMs: number): void;
  /** Another limit; what was consumed stays. */
  change(setting: QuotaSetting): void;
  /** Uses up the month, and limits it if it had no limit. */
  exhaust(nowMs: number): void;
  /** Holds back so much until then, without being consumed. */
  reserve(count: number, untilMs: number): void;
  /** Infinity without a limit. */
  remaining(nowMs: number): number;
}

export function createQuota(initial: QuotaSetting): Quota {
  let setting = initial;
  let reserved: { count: number; untilMs: number }[] = [];
  let month = '';
  let used = 0;
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
    get setting() {
      return setting;
    },
    consumed,
    allows: (count, nowMs) => setting.type === 'none' || consumed(nowMs) + heldBack(nowMs) + count <= setting.value,
    consume(count, nowMs) {
      used = consumed(nowMs) + count;
    },
    change(next) {
      setting = next;
    },
    exhaust(nowMs) {
      const value = setting.type === 'none' ? consumed(nowMs) : setting.value;
      setting = { type: 'limited', value };
      used = Math.max(consumed(nowMs), value);
    },
    reserve(count, untilMs) {
      reserved.push({ count, untilMs });
    },
    remaining: (nowMs) =>
      setting.type === 'none' ? Infinity : Math.max(0, setting.value - consumed(nowMs) - heldBack(nowMs)),
  };
}

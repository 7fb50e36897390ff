import type { QuotaSetting } from './config.ts';

const UTC_PLUS_9_MS = 9 * 3_600_000;

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
  };
}

function monthOf(nowMs: number): string {
  return new Date(nowMs + UTC_PLUS_9_MS).toISOString().slice(0, 7);
}

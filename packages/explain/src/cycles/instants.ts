import { PermanentError } from '@dueline/kernel';
import { type Calendar, createCalendar } from '@dueline/scheduled-cycles';
import type { ScheduledRule } from '@dueline/trigger-rules';
import type { Account } from '../rule-then.ts';

/** Cycles of one dry run, at most; ours: a cycle each hour of six weeks. */
const MAX_CYCLES = 1_000;

/** When the cycles of a rule begin. */
export const calendarOf = ({ sourceConfig }: ScheduledRule, { timezone: zone }: Account): Calendar => {
  const { cron, timezone = zone, gap, repeated } = sourceConfig;
  return createCalendar({ cron, timezone, gap, repeated });
};

/**
 * When the cycles of a rule begin that its calendar has from one instant (RFC 3339) to before another, in microseconds.
 *
 * @throws PermanentError when there are more than {@link MAX_CYCLES}.
 */
export function cyclesBetween(
  rule: ScheduledRule,
  account: Account,
  { from, to }: { readonly from: string; readonly to: string },
): number[] {
  const calendar = calendarOf(rule, account);
  const end = millisOf(to);
  const cycles: number[] = [];
  for (
    let at = calendar.next(new Date(millisOf(from) - 1));
    at !== undefined && at.getTime() < end;
    at = calendar.next(at)
  ) {
    if (cycles.length === MAX_CYCLES)
      throw new PermanentError(
        `from ${from} to ${to} the rule has more than ${MAX_CYCLES.toLocaleString('en')} cycles: choose a range that ends at ${at.toISOString()} or before`,
      );
    cycles.push(at.getTime() * 1_000);
  }
  return cycles;
}

/**
 * The end of a range in which a rule has just so many cycles, RFC 3339.
 *
 * @throws PermanentError when its calendar has not as many, or they are more than {@link MAX_CYCLES}.
 */
export function endOfCycles(
  rule: ScheduledRule,
  account: Account,
  { from, cycles }: { readonly from: string; readonly cycles: number },
): string {
  if (!Number.isInteger(cycles) || cycles < 1 || cycles > MAX_CYCLES)
    throw new PermanentError(`${cycles} cycles: from 1 to ${MAX_CYCLES.toLocaleString('en')} can be tried at once`);
  const calendar = calendarOf(rule, account);
  let last = new Date(millisOf(from) - 1);
  for (let n = 0; n < cycles; n += 1) {
    const next = calendar.next(last);
    if (next === undefined) throw new PermanentError(`from ${from} on the rule has ${n} cycles, and no more`);
    last = next;
  }
  return new Date(last.getTime() + 1).toISOString();
}

/** The first millisecond that is not before the instant. */
const millisOf = (instant: string): number =>
  Number((Temporal.Instant.from(instant).epochNanoseconds + 999_999n) / 1_000_000n);

import type { AccountName } from '@dueline/accounts';
import { type Db, sql } from '@dueline/db';
import { UsageError } from './actions/command-line.ts';

/** A time that somebody typed; what it means hangs on the zone of the account, and on product time. */
export type TypedTime = (db: Db, account: AccountName) => Promise<string>;

const UNITS = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const;
const SAYS =
  'a time is 2026-11-29T18:00 on the clocks of the account, 2026-11-29, an instant with an offset, or how long ago: 90m, 12h, 7d, 4w';

/**
 * Reads a time: how long ago it was, with a sign how long it is ahead (`+7d`), or when.
 *
 * @throws UsageError that names the option.
 */
export function timeOption(name: string, text: string): TypedTime {
  const [, sign, count, unit] = /^(\+?)(\d{1,5})([smhdw])$/.exec(text) ?? [];
  if (count !== undefined) {
    const seconds = Number(count) * UNITS[unit as keyof typeof UNITS] * (sign === '+' ? -1 : 1);
    return async (db) => {
      const { rows } = await db.execute<{ at: string }>(sql`
        select to_char((app_now() - make_interval(secs => ${seconds})) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`);
      return rows[0]?.at ?? '';
    };
  }
  const instant = parsed(() => Temporal.Instant.from(text));
  if (instant !== undefined) return () => Promise.resolve(instant.toString());
  const local = parsed(() => Temporal.PlainDateTime.from(text));
  if (local === undefined) throw new UsageError(`--${name} ${text}: ${SAYS}`);
  return (_, { timezone }) => Promise.resolve(local.toZonedDateTime(timezone).toInstant().toString());
}

function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

import type { Delay } from '@dueline/contracts';
import { type Db, type Rows, rowsGiven, rowsOf, type SQL, sharedGiven, sql, statement, type Tx } from '@dueline/db';
import type { ActionToSchedule } from './schedule.ts';

/**
 * Joins rows `action`, which have organization_id, line_oa_id, user_id and delay_spec, with `timing (due)`: when the delay is over,
 * counted from `start` or from the date it hangs on; null when there is no such date. Local times are those of the person's
 * zone if it is a valid one, else of the account's. Reads line_oa, line_user and booking.
 */
const timingFrom = (start: SQL) => sql`
  left join line_oa as account on account.id = action.line_oa_id
  left join line_user as person on person.line_oa_id = action.line_oa_id and person.user_id = action.user_id
  left join booking on booking.id = (action.delay_spec #>> '{to,bookingId}')::bigint and booking.cancelled_date is null
        and booking.line_oa_id = action.line_oa_id and booking.user_id = action.user_id
  cross join lateral (select coalesce(usable_zone(person.timezone), account.timezone) as name) as zone
  cross join lateral (
    select delay_due(action.delay_spec,
                     case when action.delay_spec -> 'to' is null then ${start}
                          when action.delay_spec -> 'to' ? 'attribute'
                          then date_of_text(person.attributes ->> (action.delay_spec #>> '{to,attribute}'), zone.name)
                          else booking.starts_at end,
                     zone.name) as due) as timing`;

/** The same, counted from now. */
export const timing = timingFrom(sql`app_now()`);

/** When a delay is over: so many seconds after now, or at a date; `isPast` when that is before now. */
export type Dated =
  | { readonly seconds: number }
  | {
      readonly due: string;
      readonly isPast: boolean;
      readonly whenPast: 'fire' | 'skip' | 'fail';
    };

/** Whose delay, and what it is. */
export type ToDate = Pick<ActionToSchedule, 'organizationId' | 'lineOaId' | 'userId' | 'delay' | 'from'>;

/** What the delay is counted from; undefined: now. Who waits for somebody has the whole time from now on. */
export const countedFrom = ({ delay, from }: Pick<ToDate, 'delay' | 'from'>): string | undefined =>
  delay.mode === 'normal' ? from : undefined;

/** By position, whether there is anything to count each delay from. Asks the database only where it must. */
export const haveDates = async (tx: Tx, waits: readonly ToDate[]): Promise<boolean[]> =>
  (await datesOf(tx, waits)).map((dated) => dated !== null);

/** By position, when each delay is over; null when there is nothing to count from. Asks the database only where it must. */
export async function datesOf(on: Db | Tx, actions: readonly ToDate[]): Promise<readonly (Dated | null)[]> {
  const asked = actions.flatMap((action, n) =>
    secondsOf(action.delay) === undefined
      ? {
          ...{ n, organization_id: action.organizationId, line_oa_id: action.lineOaId, user_id: action.userId },
          ...{ delay_spec: action.delay, counted_from: countedFrom(action) },
        }
      : [],
  );
  const rows =
    asked.length === 0
      ? []
      : await askDates(on, {
          actions: rowsOf(asked, ({ delay_spec, ...row }, share) => ({ ...row, delay_spec: share(delay_spec) })),
        });
  const answers = new Map(rows.map((row) => [row.n, row]));
  return actions.map(({ delay }, n) => {
    const seconds = secondsOf(delay);
    if (seconds !== undefined) return { seconds };
    const { due = null, is_past = false } = answers.get(n) ?? {};
    const whenPast = delay.mode === 'relativeToDate' ? delay.whenPast : 'fire';
    return due === null ? null : { due, isPast: is_past ?? false, whenPast };
  });
}

/** What is the same on every clock; undefined: it goes by a calendar, or by a date. */
function secondsOf(delay: Delay): number | undefined {
  if (delay.mode === 'relativeToDate') return undefined;
  return delay.mode === 'normal' ? delay.seconds : (delay.expiresSeconds ?? delay.delaySeconds);
}

const askDates = statement<{ n: number; due: string | null; is_past: boolean | null }, { actions: Rows }>(sql`
  select action.n, timing.due, timing.due < app_now() as is_past
    from (select n, organization_id, line_oa_id, user_id, ${sharedGiven('actions', 'delay_spec')} as delay_spec, counted_from
            from ${rowsGiven('actions')} as asked (n integer, organization_id bigint, line_oa_id bigint, user_id text, delay_spec integer,
                                                   counted_from timestamptz)) as action
         ${timingFrom(sql`coalesce(action.counted_from, app_now())`)}`);

import { sql } from '@dueline/db';

/**
 * Joins rows `action`, which have organization_id, line_oa_id, user_id and delay_spec, with `timing (due)`: when the delay is over,
 * counted from app_now() or from the date it hangs on; null when there is no such date. Local times are those of the person's
 * zone if it is a valid one, else of the account's. Reads line_oa, line_user and booking.
 */
export const timing = sql`
  left join line_oa as account on account.id = action.line_oa_id
  left join line_user as person on person.line_oa_id = action.line_oa_id and person.user_id = action.user_id
  left join booking on booking.id = (action.delay_spec #>> '{to,bookingId}')::bigint and booking.cancelled_date is null
        and booking.line_oa_id = action.line_oa_id and booking.user_id = action.user_id
  cross join lateral (select coalesce(usable_zone(person.timezone), account.timezone) as name) as zone
  cross join lateral (
    select delay_due(action.delay_spec,
                     case when action.delay_spec -> 'to' is null then app_now()
                          when action.delay_spec -> 'to' ? 'attribute'
                          then date_of_text(person.attributes ->> (action.delay_spec #>> '{to,attribute}'), zone.name)
                          else booking.starts_at end,
                     zone.name) as due) as timing`;

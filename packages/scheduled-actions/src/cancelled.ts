import { sql } from '@dueline/db';
import { ACTION } from './action-row.ts';

/** pending -> cancelled for the rows `held (id)` that the statement has locked; returns {@link ACTION}. */
export const cancelHeld = (reason: string) => sql`
  update scheduled_action as action
     set status = 'cancelled', fence = action.fence + 1, cancel_reason = ${reason}, executed_at = app_now(),
         updated_at = clock_timestamp()
    from held where action.id = held.id
  returning ${ACTION}`;

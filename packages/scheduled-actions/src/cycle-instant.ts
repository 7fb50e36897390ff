import { CYCLE_KEY_PREFIX } from '@dueline/contracts';
import { sql } from '@dueline/db';

/**
 * The instant that the calendar names, of a row `action` that a cycle made and that hangs on a date: for when it was meant if its date had passed by
 * then. Null: it hangs on none, or no cycle made it; its due_at says it all. Reads scheduled_trigger_execution.
 */
export const cycleInstant = sql`
  case when action.anchor_ref is not null and starts_with(action.dedup_key, ${CYCLE_KEY_PREFIX})
       then (select cycle.scheduled_at from scheduled_trigger_execution as cycle where cycle.id = split_part(action.dedup_key, ':', 2)::bigint) end`;

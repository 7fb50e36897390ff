import { cycleIdOfAction, sql } from '@dueline/db';

/**
 * The instant that the calendar names, of a row `action` that a cycle made and that hangs on a date: for when it was meant if its date had passed by
 * then. Null: it hangs on none, or no cycle made it; its due_at says it all. Reads scheduled_trigger_execution.
 */
export const cycleInstant = sql`
  case when action.anchor_ref is not null
       then (select cycle.scheduled_at from scheduled_trigger_execution as cycle where cycle.id = ${cycleIdOfAction}) end`;

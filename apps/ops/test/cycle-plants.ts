const cycle = (columns: string, values: string) => `
  insert into scheduled_trigger_execution (organization_id, line_oa_id, trigger_rule_id, scheduled_at, ${columns})
  select organization_id, line_oa_id, id, ${values} from trigger_rule limit 1`;
const COUNTED =
  'status, cursor_user_id, high_user_id, read_all, total_users, enqueued_users, processed_users, completed_at';

/** Faults of cycles, as in the table of the audit's test. */
export const CYCLE_PLANTS: readonly (readonly [id: string, fault: string, sql: string])[] = [
  ['I20', 'somebody has no action', cycle(COUNTED, `app_now(), 'completed', 'V', 'V', true, 1, 1, 1, app_now()`)],
  [
    'I20',
    'somebody still waits',
    `${cycle(COUNTED, `app_now(), 'completed', 'V', 'V', true, 1, 1, 1, app_now()`)};
     insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, due_at, execute_at, dedup_key)
     select line_user.organization_id, line_user.line_oa_id, user_id, 'send_message', '{}', app_now(), app_now() + interval '1 day', 'ste:' || cycle.id || ':' || user_id
       from line_user join scheduled_trigger_execution as cycle using (line_oa_id) limit 1`,
  ],
  [
    'I19',
    'nobody opens it',
    `insert into cycle_schedule (trigger_rule_id, organization_id, line_oa_id, is_live, next_run_at, planned_at)
     select id, organization_id, line_oa_id, true, app_now() - interval '61 minutes', clock_timestamp() from trigger_rule limit 1`,
  ],
  ['I19', 'it began too soon', cycle('started_at', `app_now() + interval '1 hour', app_now()`)],
  [
    'I21',
    'somebody beyond the cursor has an action',
    `${cycle('status', `app_now(), 'processing'`)};
     insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, due_at, execute_at, dedup_key)
     select line_user.organization_id, line_user.line_oa_id, user_id, 'send_message', '{}', app_now(), app_now() + interval '1 day', 'ste:' || cycle.id || ':' || user_id
       from line_user join scheduled_trigger_execution as cycle using (line_oa_id) limit 1`,
  ],
];

import { CYCLE_KEY_PREFIX } from '@dueline/contracts';
import { type Invariant, sql } from '@dueline/db';
import { actionsOf } from './count.ts';

/** What must be true of cycles. */
export const SCHEDULED_CYCLE_INVARIANTS: readonly Invariant[] = [
  {
    id: 'I20',
    says: 'a completed cycle has one action for each person that it counts, and none that waits but for what a person brought back',
    offending: ({ historyDays }) => sql`
      select format('cycle %s of rule %s: %s enqueued, %s actions, %s of them open', cycle.id, cycle.trigger_rule_id, cycle.enqueued_users,
                    action.count, action.open) as what
        from scheduled_trigger_execution as cycle
       cross join lateral (
         select count(*) as count, count(*) filter (where action.status in ('pending', 'processing') and action.gen = 0) as open
           from ${actionsOf('cycle')}) as action
       where cycle.status = 'completed' and cycle.completed_at > app_now() - make_interval(days => ${historyDays})
         and (action.count <> cycle.enqueued_users or action.open > 0)`,
  },
  {
    id: 'I21',
    says: 'nobody beyond the cursor of a cycle has an action of it',
    offending: ({ historyDays }) => sql`
      select format('cycle %s of rule %s: read up to "%s", and %s people beyond have an action', cycle.id, cycle.trigger_rule_id,
                    cycle.cursor_user_id, action.count) as what
        from scheduled_trigger_execution as cycle
       cross join lateral (
         select count(*) as count
           from ${actionsOf('cycle')} and action.dedup_key > ${sql.raw(`'${CYCLE_KEY_PREFIX}'`)} || cycle.id || ':' || cycle.cursor_user_id) as action
       where cycle.started_at > app_now() - make_interval(days => ${historyDays}) and action.count > 0`,
  },
  {
    id: 'I19',
    says: 'no cycle begins before its rule says, and no schedule is behind by more than an hour while its account is at work',
    offending: () => sql`
      select format('rule %s: its next cycle was due %s', schedule.trigger_rule_id, schedule.next_run_at) as what
        from cycle_schedule as schedule
        join line_oa as account on account.id = schedule.line_oa_id and account.stopped_at is null
        join organization on organization.id = schedule.organization_id and organization.stopped_at is null
       where schedule.next_run_at < app_now() - interval '1 hour'
      union all
      select format('cycle %s of rule %s: opened %s before its time %s', id, trigger_rule_id, started_at, scheduled_at)
        from scheduled_trigger_execution where status <> 'skipped' and started_at < scheduled_at`,
  },
];

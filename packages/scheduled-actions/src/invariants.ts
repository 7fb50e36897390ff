import { type Invariant, sql } from '@dueline/db';

/** What must be true of waiting work. */
export const SCHEDULED_ACTION_INVARIANTS: readonly Invariant[] = [
  {
    id: 'I14.scheduled_action',
    says: 'a claimed action whose lease is over is taken back',
    offending: ({ leaseOverSeconds }) => sql`
      select format('scheduled_action %s: of %s, lease over since %s', id, claimed_by, lease_until) as what
        from scheduled_action
       where status = 'processing' and lease_until < clock_timestamp() - make_interval(secs => ${leaseOverSeconds})`,
  },
  {
    id: 'I15.scheduled_action',
    says: 'an action that is due is claimed soon, unless its account is stopped',
    offending: ({ overdueSeconds }) => sql`
      select format('scheduled_action %s: due since %s', action.id, execute_at) as what
        from scheduled_action as action
        join line_oa on line_oa.id = action.line_oa_id and line_oa.status = 'active' and line_oa.stopped_at is null
        join organization on organization.id = action.organization_id and organization.stopped_at is null
       where action.status = 'pending' and execute_at < app_now() - make_interval(secs => ${overdueSeconds})`,
  },
  {
    id: 'I29.done',
    says: 'an action is done exactly when its history says once that it fired',
    offending: ({ historyDays }) => sql`
      with ended as (
        select id from scheduled_action
         where status = 'done' and executed_at > app_now() - make_interval(days => ${historyDays})
      ), fired as (
        select scheduled_action_id as id, count(*) as times from trigger_log
         where decision = 'fired' and scheduled_action_id is not null group by 1
      )
      select format('scheduled_action %s: done, fired %s times', ended.id, coalesce(times, 0)) as what
        from ended left join fired using (id) where times is distinct from 1
      union all
      select format('scheduled_action %s: fired, and not done but %s', action.id, action.status)
        from fired join scheduled_action as action using (id) where action.status <> 'done'`,
  },
  {
    id: 'I29.cancelled',
    says: 'an action is cancelled exactly when its history says so',
    offending: ({ historyDays }) => sql`
      with cancelled as (
        select distinct scheduled_action_id as id from trigger_log
         where decision = 'cancelled' and scheduled_action_id is not null
      ), by_person as (
        select distinct scheduled_action_id as id from scheduled_action_edit where operation = 'cancel'
      )
      select format('scheduled_action %s: cancelled (%s) without history', action.id, cancel_reason) as what
        from scheduled_action as action left join cancelled using (id) left join by_person using (id)
       where status = 'cancelled' and executed_at > app_now() - make_interval(days => ${historyDays})
         and cancelled.id is null and by_person.id is null
      union all
      select format('scheduled_action %s: cancelled in its history, and %s', action.id, status)
        from cancelled join scheduled_action as action using (id) where gen = 0 and status <> 'cancelled'`,
  },
  {
    id: 'I30.scheduled_action',
    says: 'an action names an account of its organization, and a rule of that account',
    offending: () => sql`
      select format('scheduled_action %s: of organization %s, account %s, rule %s', action.id, action.organization_id, action.line_oa_id,
                    action.trigger_rule_id) as what
        from scheduled_action as action
        left join line_oa on line_oa.id = action.line_oa_id and line_oa.organization_id = action.organization_id
        left join trigger_rule as rule on rule.id = action.trigger_rule_id and rule.line_oa_id = line_oa.id
       where line_oa.id is null or (action.trigger_rule_id is not null and rule.id is null)`,
  },
  {
    id: 'I30.beside',
    says: 'what an action waits for and what people did to it name its account',
    offending: () => sql`
      select format('%s of scheduled_action %s: of organization %s, account %s', said_in, scheduled_action_id, beside.organization_id,
                    beside.line_oa_id) as what
        from (select 'action_wait' as said_in, scheduled_action_id, organization_id, line_oa_id from action_wait
               union all
              select 'scheduled_action_edit', scheduled_action_id, organization_id, line_oa_id from scheduled_action_edit) as beside
        join scheduled_action as action on action.id = scheduled_action_id
       where (action.organization_id, action.line_oa_id) <> (beside.organization_id, beside.line_oa_id)`,
  },
];

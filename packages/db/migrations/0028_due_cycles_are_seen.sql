-- The moment (product time) from which on a schedule is planned: the cycles between a change of its rule and its planning are not lost.
alter table cycle_schedule add column plan_from timestamptz;

-- What of a rule says when its cycles begin.
create function calendar_of(source_config jsonb) returns jsonb language sql immutable as $$
  select jsonb_build_array(source_config -> 'cron', source_config -> 'timezone', source_config -> 'gap', source_config -> 'repeated')
$$;

-- A cycle whose time had come when its calendar was taken away is seen to be left out. What else that calendar had until now is told with it.
create function leave_out_due_cycle(schedule cycle_schedule, version int, reason text) returns void language sql as $$
  insert into scheduled_trigger_execution (organization_id, line_oa_id, trigger_rule_id, scheduled_at, rule_version, status, reason_code, error_message,
                                           completed_at)
  select schedule.organization_id, schedule.line_oa_id, schedule.trigger_rule_id, schedule.next_run_at, version, 'skipped', reason,
         'and all others before ' || to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), app_now()
   where schedule.next_run_at <= app_now()
      on conflict (trigger_rule_id, scheduled_at) do nothing
$$;

-- Whoever writes a rule, its schedule follows: planned anew from the moment of the change. Where the calendar stays what it was, so does the schedule, and
-- a cycle whose time has come is opened by the rule as it is now.
create or replace function keep_cycle_schedule() returns trigger language plpgsql security definer set search_path from current as $$
declare
  lives boolean := new.enabled and new.mode <> 'draft' and new.deleted_date is null and new.source_type = 'scheduled_time';
  was cycle_schedule;
begin
  if tg_op = 'UPDATE' then
    select * into was from cycle_schedule where trigger_rule_id = new.id for no key update;
    if was.is_live and lives and was.problem is null and old.mode = new.mode
       and calendar_of(old.source_config) = calendar_of(new.source_config) then
      return null;
    end if;
    perform leave_out_due_cycle(was, old.version, case when new.deleted_date is not null then 'rule_deleted'
                                                       when lives then 'rule_changed' else 'rule_disabled' end);
  end if;
  insert into cycle_schedule (trigger_rule_id, organization_id, line_oa_id, is_live, plan_from)
  values (new.id, new.organization_id, new.line_oa_id, lives, app_now())
  on conflict (trigger_rule_id) do update
    set is_live = excluded.is_live, next_run_at = null, planned_at = null, problem = null, plan_from = excluded.plan_from,
        fence = cycle_schedule.fence + 1, updated_date = clock_timestamp();
  return null;
end $$;

-- Local times are those of the zone in force: the schedules of rules without a zone of their own are planned anew.
create or replace function keep_cycle_schedules_of_account() returns trigger language plpgsql security definer set search_path from current as $$
begin
  perform leave_out_due_cycle(schedule, rule.version, 'zone_changed')
     from (select * from cycle_schedule where line_oa_id = new.id and next_run_at is not null order by trigger_rule_id for no key update) as schedule
     join trigger_rule as rule on rule.id = schedule.trigger_rule_id and not rule.source_config ? 'timezone';
  update cycle_schedule
     set next_run_at = null, planned_at = null, problem = null, plan_from = app_now(), fence = cycle_schedule.fence + 1, updated_date = clock_timestamp()
    from trigger_rule as rule
   where rule.id = cycle_schedule.trigger_rule_id and cycle_schedule.line_oa_id = new.id and not rule.source_config ? 'timezone';
  return null;
end $$;

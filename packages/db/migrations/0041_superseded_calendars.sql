-- A calendar that was changed before anybody had planned by it. What it had due is left out visibly by whoever plans: only they can read a calendar.
create table superseded_calendar (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  trigger_rule_id bigint not null,
  source_config jsonb not null,
  -- the account's at that time
  timezone text not null,
  rule_version integer not null,
  reason_code text not null,
  -- its instants behind this one, until it was changed
  plan_from timestamptz not null,
  superseded_at timestamptz not null,
  constraint superseded_calendar_rule_fkey foreign key (organization_id, line_oa_id, trigger_rule_id)
    references trigger_rule (organization_id, line_oa_id, id)
);
call isolate_tenants('superseded_calendar');
revoke insert, update, delete on superseded_calendar from dueline_tenant;

-- Beside leave_out_due_cycle, which leaves out what was planned.
create function supersede_calendar(schedule cycle_schedule, source_config jsonb, timezone text, version int, reason text) returns void language sql as $$
  insert into superseded_calendar (organization_id, line_oa_id, trigger_rule_id, source_config, timezone, rule_version, reason_code, plan_from, superseded_at)
  select schedule.organization_id, schedule.line_oa_id, schedule.trigger_rule_id, source_config, timezone, version, reason, schedule.plan_from, app_now()
   where schedule.is_live and schedule.planned_at is null and schedule.plan_from < app_now()
$$;

-- As in 0028, and what was not planned yet is kept. Of two changes that began at once the later one waited for the other: planning never goes back.
create or replace function keep_cycle_schedule() returns trigger language plpgsql security definer set search_path from current as $$
declare
  lives boolean := new.enabled and new.mode <> 'draft' and new.deleted_date is null and new.source_type = 'scheduled_time';
  reason text := case when new.deleted_date is not null then 'rule_deleted' when lives then 'rule_changed' else 'rule_disabled' end;
  was cycle_schedule;
begin
  if tg_op = 'UPDATE' then
    select * into was from cycle_schedule where trigger_rule_id = new.id for no key update;
    if was.is_live and lives and was.problem is null and old.mode = new.mode
       and calendar_of(old.source_config) = calendar_of(new.source_config) then
      return null;
    end if;
    perform leave_out_due_cycle(was, old.version, reason);
    perform supersede_calendar(was, old.source_config, account.timezone, old.version, reason) from line_oa as account where account.id = new.line_oa_id;
  end if;
  insert into cycle_schedule (trigger_rule_id, organization_id, line_oa_id, is_live, plan_from)
  values (new.id, new.organization_id, new.line_oa_id, lives, app_now())
  on conflict (trigger_rule_id) do update
    set is_live = excluded.is_live, next_run_at = null, planned_at = null, problem = null,
        plan_from = greatest(excluded.plan_from, cycle_schedule.plan_from),
        fence = cycle_schedule.fence + 1, updated_date = clock_timestamp();
  return null;
end $$;

-- The schedules are held by a statement of its own: the rules are then read as whoever held one of them left them.
create or replace function keep_cycle_schedules_of_account() returns trigger language plpgsql security definer set search_path from current as $$
begin
  perform from cycle_schedule where line_oa_id = new.id order by trigger_rule_id for no key update;
  perform leave_out_due_cycle(schedule, rule.version, 'zone_changed'),
          supersede_calendar(schedule, rule.source_config, old.timezone, rule.version, 'zone_changed')
     from cycle_schedule as schedule
     join trigger_rule as rule on rule.id = schedule.trigger_rule_id and not rule.source_config ? 'timezone'
    where schedule.line_oa_id = new.id;
  update cycle_schedule
     set next_run_at = null, planned_at = null, problem = null, plan_from = greatest(plan_from, app_now()), fence = cycle_schedule.fence + 1,
         updated_date = clock_timestamp()
    from trigger_rule as rule
   where rule.id = cycle_schedule.trigger_rule_id and cycle_schedule.line_oa_id = new.id and not rule.source_config ? 'timezone';
  return null;
end $$;

-- When the next cycle of a time-based rule is due. What the calendar is stands in the rule; this is how far it has come.
create table cycle_schedule (
  trigger_rule_id bigint primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  -- enabled, not deleted, and no draft
  is_live boolean not null,
  -- null: to be planned, or never
  next_run_at timestamptz,
  planned_at timestamptz,
  -- why the rule has no calendar, until it is changed
  problem text,
  fence bigint not null default 0,
  updated_date timestamptz not null default clock_timestamp(),
  constraint cycle_schedule_planned_is_live check (next_run_at is null or (is_live and planned_at is not null)),
  constraint cycle_schedule_rule_fkey foreign key (organization_id, line_oa_id, trigger_rule_id)
    references trigger_rule (organization_id, line_oa_id, id)
);
-- reader: the opening of cycles whose time has come, and the look ahead
create index idx_cycle_schedule_next_run_at on cycle_schedule (next_run_at) where next_run_at is not null;
-- reader: the planning of what is new or was changed
create index idx_cycle_schedule_unplanned on cycle_schedule (trigger_rule_id) where is_live and planned_at is null;
call isolate_tenants('cycle_schedule');
revoke insert, update, delete on cycle_schedule, scheduled_trigger_execution from dueline_tenant;

-- Whoever writes a rule, its schedule follows: planned anew from the moment of the change, never back.
create function keep_cycle_schedule() returns trigger language plpgsql security definer set search_path from current as $$
begin
  insert into cycle_schedule (trigger_rule_id, organization_id, line_oa_id, is_live)
  values (new.id, new.organization_id, new.line_oa_id, new.enabled and new.mode <> 'draft' and new.deleted_date is null and new.source_type = 'scheduled_time')
  on conflict (trigger_rule_id) do update
    set is_live = excluded.is_live, next_run_at = null, planned_at = null, problem = null, fence = cycle_schedule.fence + 1,
        updated_date = clock_timestamp();
  return null;
end $$;
create trigger trigger_rule_has_schedule after insert on trigger_rule for each row
  when (new.source_type = 'scheduled_time') execute function keep_cycle_schedule();
create trigger trigger_rule_moves_schedule after update of source_type, source_config, enabled, mode, deleted_date on trigger_rule for each row
  when ((new.source_type = 'scheduled_time' or old.source_type = 'scheduled_time')
        and (old.source_type, old.source_config, old.enabled, old.mode, old.deleted_date)
            is distinct from (new.source_type, new.source_config, new.enabled, new.mode, new.deleted_date))
  execute function keep_cycle_schedule();

-- Local times are those of the zone in force: the schedules of rules without a zone of their own are planned anew.
create function keep_cycle_schedules_of_account() returns trigger language plpgsql security definer set search_path from current as $$
begin
  update cycle_schedule
     set next_run_at = null, planned_at = null, problem = null, fence = cycle_schedule.fence + 1, updated_date = clock_timestamp()
    from trigger_rule as rule
   where rule.id = cycle_schedule.trigger_rule_id and cycle_schedule.line_oa_id = new.id and not rule.source_config ? 'timezone';
  return null;
end $$;
create trigger line_oa_moves_schedules after update of timezone on line_oa for each row
  when (old.timezone is distinct from new.timezone) execute function keep_cycle_schedules_of_account();

-- Whether a date is kept on a day: on itself, or in each year from its own on; the 29th of February on the day that `leap_day` names in a
-- year that has none.
create function is_kept_on(kept date, on_day date, yearly boolean, leap_day text) returns boolean language sql immutable as $$
  select case when not yearly then kept = on_day
              when kept > on_day then false
              when to_char(kept, 'MMDD') = to_char(on_day, 'MMDD') then true
              when to_char(kept, 'MMDD') = '0229' and to_char(make_date(extract(year from on_day)::int, 3, 1) - 1, 'DD') = '28'
                then to_char(on_day, 'MMDD') = case leap_day when 'mar1' then '0301' else '0228' end
              else false end
$$;

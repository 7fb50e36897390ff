-- When a campaign starts, told to the millisecond; and how fast its people may be reached.

-- Dispatchers LISTEN for campaigns that are due before they are sure to look: they look each second at what is due within two.
insert into notify_gate values ('campaign_due', '-infinity');
create function wake_campaign_due() returns void language sql security definer set search_path = pg_catalog, public, pg_temp
  as $$ select notify_gated('campaign_due') $$;
create function tell_of_due_campaign() returns trigger language plpgsql as $$
begin
  if new.start_date <= public.app_now() + interval '1.5 seconds' then
    perform public.wake_campaign_due();
  end if;
  return null;
end $$;
create trigger campaign_inserted_is_told after insert on campaign for each row
  when (new.status = 'scheduled') execute function tell_of_due_campaign();
-- Not of one that was taken back or released: whoever could not publish it must not be called again at once.
create trigger campaign_scheduled_is_told after update on campaign for each row
  when (new.status = 'scheduled' and old.status <> 'sending') execute function tell_of_due_campaign();

-- Where the pace of a campaign with max_per_minute stands: a row for each of which a chunk was begun, locked by whoever begins the next. Its
-- instants are product time.
create table campaign_pace (
  campaign_id bigint primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  -- when the next chunk may begin
  next_at timestamptz not null default app_now(),
  -- up to when the places of chunks that came too early are taken
  back_at timestamptz not null default app_now(),
  -- the chunks that may begin since then: a ticket that came to two replicas does not send them back
  granted_ids bigint[] not null default '{}',
  constraint campaign_pace_campaign_fkey foreign key (organization_id, line_oa_id, campaign_id)
    references campaign (organization_id, line_oa_id, id)
);
call isolate_tenants('campaign_pace');
-- Only the process that sends keeps pace.
revoke insert, update, delete on campaign_pace from dueline_tenant;

-- The instant of a local time, as delays compute theirs: one that the clock skips (spring) is as much later as the clock jumps; one that it shows
-- twice (autumn) is the second. Never early. 22023 for a zone that nobody knows.
create function campaign_start(local text, zone text, account_id bigint) returns timestamptz language plpgsql stable as $$
declare
  its_zone text := usable_zone(coalesce(zone, (select timezone from line_oa where id = account_id)));
begin
  if its_zone is null then
    raise exception 'no zone is called %', coalesce(zone, 'as the account says') using errcode = 'invalid_parameter_value';
  end if;
  return local::timestamp at time zone its_zone;
end $$;
-- Whoever gives a local time gets its instant; whoever gives an instant instead takes the local time back.
create function keep_local_start() returns trigger language plpgsql as $$
declare
  computed timestamptz := campaign_start(new.start_local, new.start_zone, new.line_oa_id);
begin
  if tg_op = 'INSERT' or new.start_local is distinct from old.start_local or new.start_zone is distinct from old.start_zone then
    new.start_date := computed;
  elsif new.start_date is distinct from computed then
    new.start_local := null;
    new.start_zone := null;
  end if;
  return new;
end $$;
create trigger campaign_inserted_local_start before insert on campaign for each row
  when (new.start_local is not null) execute function keep_local_start();
create trigger campaign_local_start before update of start_date, start_local, start_zone on campaign for each row
  when (new.start_local is not null
        and (old.start_date is distinct from new.start_date or old.start_local is distinct from new.start_local or old.start_zone is distinct from new.start_zone))
  execute function keep_local_start();
-- The account moves to another zone: what starts by its clock and has reached nobody moves with it, whoever moved it. A start that is past then is due now.
create function move_local_starts() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  update campaign
     set start_date = campaign_start(start_local, null, line_oa_id), fence = fence + (status = 'scheduled')::int, updated_date = clock_timestamp()
   where line_oa_id = new.id and start_local is not null and start_zone is null and frozen_at is null
     and status in ('draft', 'scheduled', 'paused', 'needs_attention');
  return null;
end $$;
create trigger line_oa_zone_moves_campaigns after update of timezone on line_oa for each row
  when (old.timezone <> new.timezone) execute function move_local_starts();

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
  constraint campaign_pace_campaign_fkey foreign key (organization_id, line_oa_id, campaign_id)
    references campaign (organization_id, line_oa_id, id)
);
call isolate_tenants('campaign_pace');
-- Only the process that sends keeps pace.
revoke insert, update, delete on campaign_pace from dueline_tenant;

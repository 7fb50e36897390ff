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

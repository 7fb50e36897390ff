-- What a change of an attribute costs its writer. The same rows and the same notification as before, from functions that do less.

-- The gate is looked at before anything is begun that writes: most writers find it shut.
create or replace function notify_gated(to_channel text) returns void language plpgsql as $$
begin
  -- Under a snapshot, a gate that somebody else has passed since would fail the writer: such a writer notifies without it.
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    perform pg_notify(to_channel, '');
    return;
  end if;
  perform from notify_gate where channel = to_channel and woken_at < clock_timestamp() - interval '10 ms' for update skip locked;
  if found then
    update notify_gate set woken_at = clock_timestamp() where channel = to_channel;
    perform pg_notify(to_channel, ''); -- never with data: 8,000 bytes would abort the writer's statement
  end if;
end $$;

-- Each key of the new attributes is looked up in the old ones and the other way round, instead of a join of both for each row; what is the same
-- for all rows is computed once. Total and SECURITY DEFINER as before.
create or replace function record_updated_attributes() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  causes jsonb;
  trace text := writer_traceparent();
begin
  if current_setting('app.causes', true) <> '' then
    causes := writer_causes();
  end if;
  with changed as materialized (
    select gen_random_uuid() as event_id, after.organization_id, after.line_oa_id, after.user_id, of_keys.diff
      from before_rows as before
      -- full: a plan that was made for one row and is kept must not join 200,000 in a nested loop; a full join has none
      full join after_rows as after using (line_oa_id, user_id)
     cross join lateral (
       select jsonb_object_agg(key, change) as diff
         from (select key,
                      case when before.attributes ? key
                           then jsonb_build_object('from', event_value(before.attributes -> key), 'to', event_value(value))
                           else jsonb_build_object('to', event_value(value)) end as change
                 from jsonb_each(after.attributes) as present (key, value)
                where value is distinct from before.attributes -> key
                union all
               select key, jsonb_build_object('from', event_value(before.attributes -> key))
                 from jsonb_object_keys(before.attributes) as gone (key)
                where not after.attributes ? key) as of_key) as of_keys
     where before.attributes is distinct from after.attributes
  ), history as (
    insert into attribute_change (event_id, organization_id, line_oa_id, user_id, changed, occurred_at)
    select event_id, organization_id, line_oa_id, user_id, diff, app_now() from changed
  )
  insert into event_outbox (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, cause_id, root_id, depth, traceparent)
  select event_id, 'attribute_changed', organization_id, line_oa_id, user_id, jsonb_build_object('changed', diff),
         exists (select from changed offset 1000),
         uuid_or_null(cause ->> 'cause'), coalesce(uuid_or_null(cause ->> 'root'), event_id),
         case when cause ->> 'depth' ~ '^[0-9]{1,4}$' then (cause ->> 'depth')::smallint else 0 end, trace
    from changed
   cross join lateral (select case when causes is not null then causes -> (line_oa_id || ':' || user_id) end) as told (cause)
   order by line_oa_id, user_id;
  if found then
    perform notify_gated('event_outbox');
  end if;
  return null;
end $$;

-- Without a search path of its own, which would be set and taken back for every row; it names what it calls instead.
create or replace function count_attributes_version() returns trigger language plpgsql as $$
begin
  new.attributes_version := old.attributes_version + 1;
  new.updated_date := public.app_now();
  return new;
end $$;

-- What happened and is not decided yet. Written by the triggers below in the writer's own transaction; a row lives until the
-- transaction that decides it deletes it into event_archive, so it is outbox and inbox at once.
create table event_outbox (
  id bigint generated always as identity primary key,
  event_id uuid not null default gen_random_uuid() constraint event_outbox_event_id_key unique,
  topic text not null constraint event_outbox_topic_known check (topic in ('attribute_changed')),
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null,
  payload jsonb not null,
  bulk boolean not null default false,
  occurred_at timestamptz not null default app_now(),
  recorded_at timestamptz not null default clock_timestamp(),
  cause_id uuid,
  root_id uuid not null,
  depth smallint not null default 0,
  traceparent text,
  -- it was decided before: whoever decides it again sets off no rule twice
  replayed boolean not null default false,
  status text not null default 'pending' constraint event_outbox_status_known check (status in ('pending', 'published', 'dead')),
  attempts smallint not null default 0,
  fence bigint not null default 0,
  lease_until timestamptz,
  constraint event_outbox_published_has_lease check ((status = 'published') = (lease_until is not null))
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
-- reader: pg-listener's claim, oldest first
create index idx_event_outbox_pending on event_outbox (id) where status = 'pending';
-- readers: the re-announcement of what nobody took, and the cap on published rows
create index idx_event_outbox_published on event_outbox (lease_until) where status = 'published';

call guard_moves('event_outbox', 'pending>published', 'published>dead', 'pending>dead', 'dead>pending');

-- Decided events, for replay, explain and dry run.
create table event_archive (
  event_id uuid not null,
  topic text not null,
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null,
  payload jsonb not null,
  bulk boolean not null,
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  cause_id uuid,
  root_id uuid not null,
  depth smallint not null,
  decided_at timestamptz not null default app_now(),
  primary key (event_id, decided_at)
) partition by range (decided_at);
-- reader: the history of one user, newest first
create index idx_event_archive_user on event_archive (line_oa_id, user_id, decided_at desc nulls first);
select make_partitions('event_archive', 'decided_at', 2);

-- The gate of NOTIFY: at most one in 10 ms for each channel, because every notifying commit of the cluster queues behind one lock.
-- A logged table: an unlogged one would be emptied by a crash and silence the gate for ever.
create table notify_gate (channel text primary key, woken_at timestamptz not null);
insert into notify_gate values ('event_outbox', '-infinity');

create function notify_gated(to_channel text) returns void language plpgsql as $$
begin
  -- Under a snapshot, a gate that somebody else has passed since would fail the writer: such a writer notifies without it.
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    perform pg_notify(to_channel, '');
    return;
  end if;
  update notify_gate set woken_at = clock_timestamp()
   where channel = (select channel from notify_gate
                     where channel = to_channel and woken_at < clock_timestamp() - interval '10 ms' for update skip locked);
  if found then
    perform pg_notify(to_channel, ''); -- never with data: 8,000 bytes would abort the writer's statement
  end if;
end $$;

-- A value as an event carries it: large ones travel as null, readers go back to the row.
create function event_value(value jsonb) returns jsonb language sql immutable parallel safe as $$
  select case when length(value::text) > 4096 then 'null'::jsonb else value end
$$;

-- A trace that the writer set for its transaction, when it looks like one.
create function writer_traceparent() returns text language sql stable as $$
  select substring(current_setting('app.traceparent', true) from '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$')
$$;

-- What our own writers say of the causes of their changes, for their transaction: {"<line_oa_id>:<user_id>": {"cause", "root", "depth"}}.
-- What does not look like that is no cause.
create function writer_causes() returns jsonb language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  told text := current_setting('app.causes', true);
begin
  if coalesce(told, '') = '' then
    return null;
  end if;
  begin
    return told::jsonb;
  exception when others then
    return null;
  end;
end $$;

create function uuid_or_null(value text) returns uuid language sql immutable parallel safe as $$
  select case when value ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then value::uuid end
$$;

-- One event per user and statement: each key whose value differs, {"key": {"from": …, "to": …}}; a side on which the key is absent is left
-- out. Total: nothing in it can fail for a value that the table accepts, because a failure here
-- would abort somebody else's write. SECURITY DEFINER, so that writers need no right on the outbox; pg_temp comes last, so that
-- a writer's temporary table of the same name diverts nothing.
create function record_updated_attributes() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  causes jsonb;
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
       select jsonb_object_agg(key, case when was is null then '{}' else jsonb_build_object('from', event_value(was)) end
                                 || case when is_now is null then '{}' else jsonb_build_object('to', event_value(is_now)) end) as diff
         from jsonb_each(before.attributes) as b (key, was)
         full join jsonb_each(after.attributes) as a (key, is_now) using (key)
        where was is distinct from is_now) as of_keys
     where before.attributes is distinct from after.attributes
  ), history as (
    insert into attribute_change (event_id, organization_id, line_oa_id, user_id, changed, occurred_at)
    select event_id, organization_id, line_oa_id, user_id, diff, app_now() from changed
  )
  insert into event_outbox (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, cause_id, root_id, depth, traceparent)
  select event_id, 'attribute_changed', organization_id, line_oa_id, user_id, jsonb_build_object('changed', diff),
         exists (select from changed offset 1000),
         uuid_or_null(cause ->> 'cause'), coalesce(uuid_or_null(cause ->> 'root'), event_id),
         case when cause ->> 'depth' ~ '^[0-9]{1,4}$' then (cause ->> 'depth')::smallint else 0 end, writer_traceparent()
    from changed cross join lateral (select causes -> (line_oa_id || ':' || user_id)) as told (cause)
   order by line_oa_id, user_id;
  if found then
    perform notify_gated('event_outbox');
  end if;
  return null;
end $$;

-- A user who arrives with attributes: each goes from absent to its value.
create function record_inserted_attributes() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  with changed as materialized (
    select gen_random_uuid() as event_id, organization_id, line_oa_id, user_id,
           (select jsonb_object_agg(key, jsonb_build_object('to', event_value(value))) from jsonb_each(attributes)) as diff
      from after_rows
     where attributes <> '{}'
  ), history as (
    insert into attribute_change (event_id, organization_id, line_oa_id, user_id, changed, occurred_at)
    select event_id, organization_id, line_oa_id, user_id, diff, app_now() from changed
  )
  insert into event_outbox (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, root_id, traceparent)
  select event_id, 'attribute_changed', organization_id, line_oa_id, user_id, jsonb_build_object('changed', diff),
         exists (select from changed offset 1000), event_id, writer_traceparent()
    from changed
   order by line_oa_id, user_id;
  if found then
    perform notify_gated('event_outbox');
  end if;
  return null;
end $$;

-- Statement level, and one trigger per kind of statement: transition tables allow neither column lists nor two events.
create trigger line_user_attributes_updated after update on line_user
  referencing old table as before_rows new table as after_rows for each statement execute function record_updated_attributes();
create trigger line_user_attributes_inserted after insert on line_user
  referencing new table as after_rows for each statement execute function record_inserted_attributes();

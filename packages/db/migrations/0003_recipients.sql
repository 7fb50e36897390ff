-- A person who met an account. Written by any service, in plain SQL; the triggers of the outbox see every change.
create table line_user (
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null constraint line_user_user_id_is_line check (user_id ~ '^U[0-9a-f]{32}$'),
  display_name text,
  timezone text,
  language text,
  is_following boolean not null default true,
  blocked_at timestamptz,
  attributes jsonb not null default '{}' constraint line_user_attributes_is_object check (jsonb_typeof(attributes) = 'object'),
  attributes_version bigint not null default 1,
  created_date timestamptz not null default app_now(),
  updated_date timestamptz not null default app_now(),
  primary key (line_oa_id, user_id),
  constraint line_user_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);

-- The change feed joins old and new rows on the key: a changed key would slip through it.
create trigger line_user_key_is_fixed before update on line_user for each row
  when (old.line_oa_id <> new.line_oa_id or old.user_id <> new.user_id or old.organization_id <> new.organization_id)
  execute function refuse_change('the key of a user never changes; insert a new user');

-- With a search path of its own, because the writer's may lack public.
create function count_attributes_version() returns trigger language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  new.attributes_version := old.attributes_version + 1;
  new.updated_date := app_now();
  return new;
end $$;
create trigger line_user_count_version before update on line_user for each row
  when (old.attributes is distinct from new.attributes) execute function count_attributes_version();

-- History of attributes, one row per user and statement; explain and dry run read it.
create table attribute_change (
  event_id uuid not null,
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null,
  changed jsonb not null,
  occurred_at timestamptz not null,
  primary key (event_id, occurred_at)
) partition by range (occurred_at);
-- reader: the history of one user, newest first
create index idx_attribute_change_user on attribute_change (line_oa_id, user_id, occurred_at desc nulls first);
select make_partitions('attribute_change', 'occurred_at', 2);

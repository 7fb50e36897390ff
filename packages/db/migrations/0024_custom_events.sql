-- What other services tell of a person that is none of our own facts: a purchase, a cart that was left. A fact like the others.
create table custom_event (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null constraint custom_event_user_id_is_line check (user_id ~ '^U[0-9a-f]{32}$'),
  name text collate "C" not null constraint custom_event_name_is_a_word check (name ~ '^[a-z][a-z0-9_.-]{0,63}$'),
  -- stays here: the event carries the name only, and who needs more reads the row
  payload jsonb not null default '{}' constraint custom_event_payload_is_object check (jsonb_typeof(payload) = 'object')
    constraint custom_event_payload_is_small check (octet_length(payload::text) <= 65536),
  idempotency_key text collate "C" not null,
  occurred_at timestamptz not null default app_now(),
  recorded_at timestamptz not null default clock_timestamp(),
  constraint custom_event_idempotency_key unique (line_oa_id, idempotency_key),
  constraint custom_event_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
create trigger custom_event_recorded after insert on custom_event
  referencing new table as after_rows for each statement execute function record_facts('custom_event', 'id', 'name');
create trigger custom_event_is_history before update on custom_event for each row
  execute function refuse_change('a fact happened: it is only written once');
call isolate_tenants('custom_event');
-- written by any service, under a role of its own: row level security would hide its own rows from it, silently
create policy other_services on custom_event using (current_user <> 'dueline_tenant');

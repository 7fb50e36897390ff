-- The ledger of what LINE, or a receiver of webhooks, is asked to do: one row per request with its retry key, made in the transaction that decides it.
create table delivery (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  -- test: the messages of a campaign to people whom its author named, which is no part of it
  kind text collate "C" not null constraint delivery_kind_known check (kind in ('campaign', 'action', 'event', 'test')),
  logical_id text collate "C" not null,
  epoch integer not null default 1,
  endpoint text collate "C" not null constraint delivery_endpoint_known check
    (endpoint in ('push', 'multicast', 'broadcast', 'richmenu_link', 'richmenu_unlink', 'webhook')),
  ordinal integer not null default 0,
  -- of how many requests the send is the part `ordinal`; parts go out in order
  group_size smallint not null default 1
    constraint delivery_group_is_an_action check (group_size = 1 or (kind <> 'campaign' and ordinal < group_size)),
  split_path text collate "C" not null default '',
  user_id text collate "C",
  trigger_rule_id bigint,
  scheduled_action_id bigint,
  event_id uuid,
  root_id uuid,
  -- names the send in each of its attempts; LINE is told of it where it takes one, which is not so for menus
  -- no index of its own: it is computed from the logical key, which is unique, and the audit computes it again
  retry_key uuid not null,
  body text not null,
  body_sha256 text not null,
  status text not null default 'planned' constraint delivery_status_known
    check (status in ('planned', 'sending', 'accepted', 'refused', 'split', 'unknown', 'expired', 'cancelled')),
  fence bigint not null default 0,
  claimed_by text,
  lease_until timestamptz,
  published_at timestamptz,
  announce_count smallint not null default 0,
  next_attempt_at timestamptz not null default app_now(),
  first_attempt_at timestamptz,
  deliver_until timestamptz not null,
  accepted_at timestamptz,
  line_request_id text,
  line_accepted_request_id text,
  reason_code text,
  -- somebody waits for its end, of which an event tells
  announce_end boolean not null default false,
  traceparent text,
  created_date timestamptz not null default app_now(),
  updated_date timestamptz not null default clock_timestamp(),
  constraint delivery_lease_while_sending check ((status = 'sending') = (lease_until is not null)),
  constraint delivery_accepted_has_request check ((status = 'accepted') = (accepted_at is not null)),
  constraint delivery_announced_has_user check (not announce_end or user_id is not null),
  -- one logical send is one row, and so one retry key; what tells rows apart comes first
  constraint delivery_logical_key unique (logical_id, kind, epoch, ordinal, endpoint, split_path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
-- nobody searches by these: ANALYZE need not read them
alter table delivery alter body set statistics 0, alter body_sha256 set statistics 0;
-- reader: the announcing sweep, of what has no ticket: oldest due first
create index idx_delivery_unannounced on delivery (next_attempt_at, id) where status = 'planned' and published_at is null;
-- reader: the announcing sweep, of what nobody took: how long that takes hangs on how often it was announced
create index idx_delivery_announced on delivery (announce_count, published_at) where status = 'planned' and published_at is not null;
-- readers: the sweep that closes what is too late, or was tried too long ago
create index idx_delivery_planned on delivery (deliver_until) where status = 'planned';
create index idx_delivery_attempted on delivery (first_attempt_at) where status = 'planned' and first_attempt_at is not null;
-- reader: the reaper of sends whose worker died
create index idx_delivery_sending on delivery (id) where status = 'sending';

call guard_moves('delivery',
                 'planned>sending', 'planned>planned', 'planned>accepted', 'planned>expired', 'planned>cancelled', 'planned>unknown',
                 'sending>accepted', 'sending>planned', 'sending>refused', 'sending>split', 'sending>unknown',
                 'refused>planned', 'expired>planned', 'unknown>planned', 'cancelled>planned');
-- What needs several requests goes out in order: the part after one that LINE accepted is due, and what follows one that ended otherwise
-- is cancelled. In the transaction that ends the part, whoever ends it. A part that is not due yet waits for the end of time, so that
-- nobody who looks for what is due reads it.
create function delivery_follow_part() returns trigger language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  update delivery
     set status = case when new.status = 'accepted' then 'planned' else 'cancelled' end,
         fence = delivery.fence + 1,
         next_attempt_at = app_now(),
         reason_code = case when new.status = 'accepted' then null
                            when new.status = 'cancelled' and starts_with(new.reason_code, 'earlier_') then new.reason_code
                            else 'earlier_' || new.status end,
         updated_date = clock_timestamp()
   where logical_id = new.logical_id and kind = new.kind and epoch = new.epoch and ordinal = new.ordinal + 1
     and endpoint = new.endpoint and split_path = new.split_path and line_oa_id = new.line_oa_id
     and status = 'planned' and next_attempt_at = 'infinity';
  return null;
end $$;
create trigger delivery_part_is_followed after update on delivery for each row
  when (new.ordinal + 1 < new.group_size and old.status <> new.status
    and new.status in ('accepted', 'refused', 'unknown', 'expired', 'cancelled'))
  execute function delivery_follow_part();
create trigger delivery_has_account after insert on delivery
  referencing new table as after_rows for each statement execute function refuse_strangers();
-- One event for each end of a delivery that somebody waits for, in the transaction that ends it, whoever writes.
create function record_delivery_end() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  id uuid := gen_random_uuid();
begin
  insert into event_outbox (event_id, topic, organization_id, line_oa_id, user_id, payload, cause_id, root_id, traceparent)
  values (id, 'delivery_settled', new.organization_id, new.line_oa_id, new.user_id,
          jsonb_build_object('id', new.id::text, 'status', new.status, 'reason_code', new.reason_code, 'kind', new.kind,
                             'logical_id', new.logical_id, 'scheduled_action_id', new.scheduled_action_id::text),
          new.event_id, coalesce(new.root_id, id), new.traceparent);
  perform notify_gated('event_outbox');
  return null;
end $$;
create trigger delivery_end_is_announced after update of status on delivery for each row
  when (new.announce_end and new.status <> old.status and new.status in ('accepted', 'refused', 'unknown', 'expired', 'cancelled'))
  execute function record_delivery_end();
-- Written ahead of each call; a row without an outcome after a crash counts as ambiguous.
create table delivery_attempt (
  delivery_id bigint not null references delivery (id),
  attempt_no integer not null,
  organization_id bigint not null,
  line_oa_id bigint not null,
  fence bigint not null,
  claimed_by text not null,
  retry_key uuid not null,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  outcome text constraint delivery_attempt_outcome_known check (outcome in
    ('accepted', 'already', 'refused', 'auth', 'throttled', 'not_reached', 'ambiguous')),
  http_status smallint,
  line_request_id text,
  detail text,
  primary key (delivery_id, attempt_no),
  constraint delivery_attempt_finished_has_outcome check ((finished_at is null) = (outcome is null))
);

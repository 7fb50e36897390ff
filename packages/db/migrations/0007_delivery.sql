-- The ledger of what LINE is asked to do: one row per request with its retry key, made in the transaction that decides it.
create table delivery (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  kind text collate "C" not null constraint delivery_kind_known check (kind in ('campaign', 'action', 'event')),
  logical_id text collate "C" not null,
  epoch integer not null default 1,
  endpoint text collate "C" not null constraint delivery_endpoint_known check (endpoint in ('push', 'multicast', 'broadcast')),
  ordinal integer not null default 0,
  split_path text collate "C" not null default '',
  user_id text collate "C",
  trigger_rule_id bigint,
  scheduled_action_id bigint,
  event_id uuid,
  root_id uuid,
  -- no index of its own: it is computed from the logical key, which is unique, and the audit computes it again
  retry_key uuid not null,
  body text not null,
  body_sha256 text not null,
  status text not null default 'planned' constraint delivery_status_known
    check (status in ('planned', 'sending', 'accepted', 'refused', 'unknown', 'expired', 'cancelled')),
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
  traceparent text,
  created_date timestamptz not null default app_now(),
  updated_date timestamptz not null default clock_timestamp(),
  constraint delivery_lease_while_sending check ((status = 'sending') = (lease_until is not null)),
  constraint delivery_accepted_has_request check ((status = 'accepted') = (accepted_at is not null)),
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
                 'sending>accepted', 'sending>planned', 'sending>refused', 'sending>unknown',
                 'refused>planned', 'expired>planned', 'unknown>planned');
create trigger delivery_has_account after insert on delivery
  referencing new table as after_rows for each statement execute function refuse_strangers();
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

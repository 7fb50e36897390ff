-- The ledger of what LINE is asked to do: one row per request with its retry key, made in the transaction that decides it.
create table delivery (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  kind text not null constraint delivery_kind_known check (kind in ('campaign', 'action', 'event')),
  logical_id text not null,
  epoch integer not null default 1,
  endpoint text not null constraint delivery_endpoint_known check (endpoint in ('push', 'multicast', 'broadcast')),
  ordinal integer not null default 0,
  split_path text not null default '',
  user_id text,
  trigger_rule_id bigint,
  scheduled_action_id bigint,
  event_id uuid,
  root_id uuid,
  retry_key uuid not null constraint delivery_retry_key_key unique,
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
  constraint delivery_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id),
  -- one logical send is one row, and so one retry key
  constraint delivery_logical_key unique (kind, logical_id, epoch, endpoint, ordinal, split_path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
-- reader: the announcing sweep, oldest due first
create index idx_delivery_planned on delivery (next_attempt_at, id) where status = 'planned';
-- reader: the reaper of sends whose worker died
create index idx_delivery_sending on delivery (id) where status = 'sending';

create trigger delivery_guard before update on delivery for each row
  when (old.status is distinct from new.status or old.fence is distinct from new.fence)
  execute function guard_row('planned>sending', 'planned>planned', 'planned>accepted', 'planned>expired', 'planned>cancelled', 'planned>unknown',
                             'sending>accepted', 'sending>planned', 'sending>refused', 'sending>unknown',
                             'refused>planned', 'expired>planned', 'unknown>planned');
-- A retry must be the identical request: LINE knows it by its key alone.
create trigger delivery_content_is_fixed before update on delivery for each row
  when (old.body is distinct from new.body or old.body_sha256 is distinct from new.body_sha256 or old.user_id is distinct from new.user_id
     or old.organization_id <> new.organization_id or old.line_oa_id <> new.line_oa_id or old.endpoint <> new.endpoint
     or (old.retry_key is distinct from new.retry_key and old.epoch = new.epoch))
  execute function refuse_change('body, recipient, account and endpoint of a delivery never change, its retry key only with its epoch');

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

-- What stands between an account and LINE: since when LINE throttles it for no reason that its numbers show, how often it refused what it
-- finds nothing wrong with, and why and since when the account is paused. One row for each account that ever had any.
create table account_trouble (
  line_oa_id bigint primary key,
  organization_id bigint not null,
  -- product time: the first and the last of a row of 429s that speak of no rate
  throttled_since timestamptz,
  throttled_at timestamptz,
  -- sends that were refused within the hour though nothing is known to be wrong with them: name to product time in seconds
  refusals jsonb not null default '{}',
  -- product time: nothing is sent until then, and then one delivery to see whether LINE is well again; null: sends go on
  breaker_until timestamptz,
  -- product time: since when line_oa.status is another than active
  paused_at timestamptz,
  reason_code text collate "C" constraint account_trouble_reason_known
    check (reason_code in ('monthly_limit', 'held_back', 'token_refused', 'forbidden', 'by_person')),
  -- of a monthly limit: what LINE told at the pause, and how many messages the request wanted that met it
  quota bigint,
  used bigint,
  wanted integer,
  -- process time: when somebody last looked whether the pause is over
  looked_at timestamptz not null default clock_timestamp(),
  constraint account_trouble_pause_has_reason check ((paused_at is null) = (reason_code is null)),
  constraint account_trouble_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- reader: whoever sends, every second: few rows, as few breakers are open
create index idx_account_trouble_breaker on account_trouble (line_oa_id) where breaker_until is not null;
-- reader: the look whether a pause is over
create index idx_account_trouble_paused on account_trouble (looked_at) where paused_at is not null;

alter table account_trouble enable row level security;
create policy tenant_isolation on account_trouble to dueline_tenant
  using (organization_id = current_organization_id() and line_oa_id = current_line_oa_id());
grant select on account_trouble to dueline_tenant;

-- Broadcasts of an account within the last hour, by product time: LINE counts them by the hour, so it is one row that every replica
-- locks, not a bucket in memory.
create table broadcast_limit (
  line_oa_id bigint primary key,
  organization_id bigint not null,
  taken_at timestamptz[] not null default '{}',
  constraint broadcast_limit_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
alter table broadcast_limit enable row level security;
create policy tenant_isolation on broadcast_limit to dueline_tenant
  using (organization_id = current_organization_id() and line_oa_id = current_line_oa_id());
grant select on broadcast_limit to dueline_tenant;

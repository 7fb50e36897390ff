-- What LINE says that it sent for an account on a day, beside what it had accepted from us: one row for each account and day of UTC+9 (LINE's
-- days) on which it accepted anything.
create table sent_count (
  line_oa_id bigint not null,
  day date not null,
  organization_id bigint not null,
  status text collate "C" not null default 'waiting' constraint sent_count_status_known
    check (status in ('waiting', 'agrees', 'deficit', 'not_told')),
  -- by endpoint: people for whom LINE accepted a message from us on that day for sure, and how many of them are known to be no friends
  ours jsonb not null,
  -- by endpoint: people whom LINE counts
  theirs jsonb,
  -- people whom LINE should have counted and did not, and how many of those are put down to what we cannot know
  deficit integer,
  tolerated integer,
  -- product time: LINE counts a day when it is over, some time later
  next_look_at timestamptz not null default app_now(),
  compared_at timestamptz,
  -- process time: whoever asks LINE about it has until then
  lease_until timestamptz,
  primary key (line_oa_id, day),
  constraint sent_count_told_has_figures check ((status in ('agrees', 'deficit')) = (theirs is not null and deficit is not null)),
  constraint sent_count_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- reader: the look for days that LINE may have counted by now
create index idx_sent_count_waiting on sent_count (next_look_at) where status = 'waiting';

-- The days of which our own figures are written down, so that one process does it, once.
create table sent_count_day (
  day date primary key,
  counted_at timestamptz not null default app_now()
);

alter table sent_count enable row level security;
create policy tenant_isolation on sent_count to dueline_tenant
  using (organization_id = current_organization_id() and line_oa_id = current_line_oa_id());
grant select on sent_count to dueline_tenant;

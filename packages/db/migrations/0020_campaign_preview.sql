-- Whom and what an author was shown of a campaign, and has to confirm before it is scheduled or sent.
create table campaign_preview (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  campaign_id bigint not null,
  -- only who was shown the preview has the token
  token_sha256 text collate "C" not null constraint campaign_preview_token_key unique,
  -- what was shown: the row under this fence, with this content for these people
  fence bigint not null,
  definition_sha256 text collate "C" not null,
  -- people; null: a broadcast, whose people LINE alone knows
  people integer constraint campaign_preview_is_for_somebody check (people > 0),
  previewed_by text not null,
  created_at timestamptz not null default app_now(),
  expires_at timestamptz not null,
  confirmed_by text,
  confirmed_at timestamptz,
  constraint campaign_preview_confirmed_by_somebody check ((confirmed_at is null) = (confirmed_by is null)),
  constraint campaign_preview_campaign_fkey foreign key (organization_id, line_oa_id, campaign_id)
    references campaign (organization_id, line_oa_id, id)
);
-- reader: the removal of what nobody can confirm any more
create index idx_campaign_preview_expires on campaign_preview (expires_at);

-- What LINE told last of the messages of an account's month.
create table month_quota (
  line_oa_id bigint primary key,
  organization_id bigint not null,
  -- messages of the month; null: LINE names no limit
  quota bigint,
  used bigint,
  told_at timestamptz,
  -- somebody wants to know and LINE is to be asked; null: nobody does
  wanted_at timestamptz,
  -- process time: whoever asks has until then
  lease_until timestamptz,
  constraint month_quota_told_has_figure check ((told_at is null) = (used is null) and (quota is null or used is not null)),
  constraint month_quota_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- reader: whoever asks LINE, every second
create index idx_month_quota_wanted on month_quota (wanted_at) where wanted_at is not null;

call isolate_tenants('campaign_preview');
alter table month_quota enable row level security;
create policy tenant_isolation on month_quota to dueline_tenant
  using (organization_id = current_organization_id() and line_oa_id = current_line_oa_id());
grant select on month_quota to dueline_tenant;

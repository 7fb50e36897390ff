create table organization (
  id bigint generated always as identity primary key,
  name text not null,
  default_timezone text not null default 'Asia/Tokyo',
  created_date timestamptz not null default app_now(),
  deleted_date timestamptz
);

-- A LINE Official Account of an organization.
create table line_oa (
  id bigint generated always as identity primary key,
  organization_id bigint not null references organization (id),
  channel_id text not null constraint line_oa_channel_id_is_digits check (channel_id ~ '^[0-9]{1,20}$'),
  name text not null,
  timezone text not null default 'Asia/Tokyo',
  -- sealed with the deployment's key (accounts package); never readable from the database alone
  channel_access_token_sealed text,
  channel_secret_sealed text,
  -- what webhooks of the account's rules are signed with
  webhook_secret_sealed text,
  -- stored: the sealed token is used; else tokens are issued by LINE for the channel's id and secret
  token_kind text collate "C" not null default 'stored' constraint line_oa_token_kind_known
    check (token_kind in ('stored', 'stateless', 'short_lived')),
  -- a paused account sends nothing clean; why and since when is in account_trouble
  status text not null default 'active' constraint line_oa_status_known
    check (status in ('active', 'paused_auth', 'paused_quota', 'paused_by_person')),
  created_date timestamptz not null default app_now(),
  deleted_date timestamptz,
  constraint line_oa_channel_id_key unique (channel_id),
  -- what every tenant row refers to, so that no row can name one organization and the account of another
  constraint line_oa_tenant_key unique (organization_id, id)
);
-- An account stays, and stays where it is (deleted_date says that it is gone): what is written most names it without a foreign key.
create trigger line_oa_is_kept before delete on line_oa for each row
  execute function refuse_change('an account is deleted by its deleted_date');
create trigger line_oa_is_not_truncated before truncate on line_oa for each statement
  execute function refuse_change('an account is deleted by its deleted_date');
create trigger line_oa_key_is_fixed before update of id, organization_id on line_oa for each row
  when (old.id <> new.id or old.organization_id <> new.organization_id)
  execute function refuse_change('an account never changes its organization');

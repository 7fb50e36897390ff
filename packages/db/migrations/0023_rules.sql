-- What a rule said at each of its versions: decisions name the version, and this tells what it was. Whoever writes a rule, by whatever
-- way, leaves one.
create table trigger_rule_version (
  trigger_rule_id bigint not null,
  version integer not null,
  organization_id bigint not null,
  line_oa_id bigint not null,
  snapshot jsonb not null,
  created_date timestamptz not null default app_now(),
  primary key (trigger_rule_id, version),
  constraint trigger_rule_version_rule_fkey foreign key (organization_id, line_oa_id, trigger_rule_id)
    references trigger_rule (organization_id, line_oa_id, id)
);
create trigger trigger_rule_version_is_history before update or delete on trigger_rule_version for each row
  execute function refuse_change('what a rule said once is not changed');

-- A rule as its author sees it: without keys, counters, times, and what is computed of the rest.
create function rule_snapshot(rule trigger_rule) returns jsonb language sql stable as $$
  select to_jsonb(rule) - array['id', 'organization_id', 'line_oa_id', 'version', 'created_date', 'updated_date', 'source_key']
$$;
create function count_rule_version() returns trigger language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  new.version := greatest(new.version, old.version + (rule_snapshot(new) is distinct from rule_snapshot(old))::int);
  return new;
end $$;
create trigger trigger_rule_count_version before update on trigger_rule for each row execute function count_rule_version();
-- SECURITY DEFINER, so that writers of rules need no right on their history.
create function keep_rule_version() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into trigger_rule_version (trigger_rule_id, version, organization_id, line_oa_id, snapshot)
  values (new.id, new.version, new.organization_id, new.line_oa_id, rule_snapshot(new));
  return null;
end $$;
create trigger trigger_rule_insert_keeps_version after insert on trigger_rule for each row execute function keep_rule_version();
create trigger trigger_rule_update_keeps_version after update on trigger_rule for each row
  when (old.version <> new.version) execute function keep_rule_version();

-- At most so many messages to one person within so many seconds, over all rules of the account; campaigns count, and are not held back.
create table frequency_cap (
  organization_id bigint not null,
  line_oa_id bigint not null,
  window_seconds integer not null constraint frequency_cap_window_known check (window_seconds between 60 and 31536000),
  max_messages integer not null constraint frequency_cap_allows_something check (max_messages between 1 and 1000),
  created_date timestamptz not null default app_now(),
  primary key (line_oa_id, window_seconds),
  constraint frequency_cap_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- When rules of an account with a cap decided to send something to a person, as far back as its caps look. Locked by whoever decides:
-- two decisions cannot both take the last place.
create table message_tally (
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null,
  sent_at timestamptz[] not null default '{}',
  primary key (line_oa_id, user_id),
  constraint message_tally_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
) with (fillfactor = 80);
-- reader: the cap, which asks whether a campaign reached a person: of its chunks, which are sorted, the last that begins before them
create index idx_campaign_chunk_first on campaign_chunk (campaign_id, (user_ids[1]));
-- reader: the cap, of campaigns that were sent lately
create index idx_campaign_frozen on campaign (line_oa_id, frozen_at) where frozen_at is not null;

-- How many decisions the changes have led to that go back to one event; written for what actions caused themselves only.
create table root_budget (
  root_id uuid primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  decisions integer not null,
  last_at timestamptz not null default app_now(),
  constraint root_budget_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- reader: whoever writes one takes some of the oldest away
create index idx_root_budget_last on root_budget (last_at);

-- People who match a rule already enter it, page by page in the order of their ids: first they are counted, then, when a person has confirmed
-- that, they enter at a pace. A page is claimed, and decided in one transaction that moves the cursor: killed anywhere, it goes on there.
create table rule_enrolment (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  trigger_rule_id bigint not null,
  -- what was counted is what enters: a rule that changed is not entered any more
  rule_version integer not null,
  status text collate "C" not null default 'counting' constraint rule_enrolment_status_known
    check (status in ('counting', 'counted', 'entering', 'done', 'cancelled', 'failed')),
  fence bigint not null default 0,
  lease_until timestamptz,
  -- pages begun since the last one that was decided
  attempts smallint not null default 0,
  per_minute integer not null constraint rule_enrolment_pace_known check (per_minute between 1 and 60000),
  after_user_id text collate "C" not null default '',
  examined integer not null default 0,
  matched integer not null default 0,
  entered integer not null default 0,
  next_at timestamptz not null default app_now(),
  reason_code text,
  started_by text not null,
  created_date timestamptz not null default app_now(),
  ended_date timestamptz,
  constraint rule_enrolment_ended_has_time check ((status in ('done', 'cancelled', 'failed')) = (ended_date is not null)),
  constraint rule_enrolment_rule_fkey foreign key (organization_id, line_oa_id, trigger_rule_id)
    references trigger_rule (organization_id, line_oa_id, id)
);
-- one at a time for a rule
create unique index rule_enrolment_open_key on rule_enrolment (trigger_rule_id) where status in ('counting', 'counted', 'entering');
-- reader: the look for a page that is due
create index idx_rule_enrolment_due on rule_enrolment (next_at) where status in ('counting', 'entering');
call guard_moves('rule_enrolment', 'counting>counting', 'counting>counted', 'counting>cancelled', 'counting>failed', 'counted>entering',
                 'counted>cancelled', 'entering>entering', 'entering>done', 'entering>cancelled', 'entering>failed');

call isolate_tenants('trigger_rule_version', 'frequency_cap', 'message_tally', 'root_budget', 'rule_enrolment');
revoke insert, update, delete on trigger_rule_version, message_tally, root_budget from dueline_tenant;

-- One row per cycle of a time-based rule; the unique key is what makes a cycle run once.
create table scheduled_trigger_execution (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  trigger_rule_id bigint not null,
  -- the nominal instant: what the calendar says, not when somebody looked
  scheduled_at timestamptz not null,
  started_at timestamptz not null default app_now(),
  completed_at timestamptz,
  status text not null default 'processing' constraint scheduled_trigger_execution_status_known
    check (status in ('processing', 'completed', 'failed', 'cancelled', 'skipped')),
  reason_code text,
  origin text not null default 'cron' constraint scheduled_trigger_execution_origin_known check (origin in ('cron', 'manual')),
  rule_version integer not null default 1,
  -- whether it begins only when the earlier ones of its rule are over
  waits_its_turn boolean not null default false,
  -- people are read in the order of their ids: behind the cursor, up to the mark that was the last one when the cycle began
  cursor_user_id text collate "C" not null default '',
  high_user_id text collate "C",
  read_all boolean not null default false,
  total_users bigint not null default 0,
  enqueued_users bigint not null default 0,
  suppressed_users bigint not null default 0,
  processed_users bigint not null default 0,
  failed_users bigint not null default 0,
  counted_at timestamptz,
  error_message text,
  paused_at timestamptz,
  fence bigint not null default 0,
  claimed_by text,
  lease_until timestamptz,
  published_at timestamptz,
  -- whether the waiting actions of a cancelled one are cancelled
  swept boolean not null default false,
  constraint scheduled_trigger_execution_cursor_below_mark
    check (cursor_user_id <= coalesce(high_user_id, '') and (not read_all or high_user_id is not null)),
  constraint scheduled_trigger_execution_adds_up
    check (processed_users + failed_users <= enqueued_users + suppressed_users
           and (status <> 'completed' or (total_users = enqueued_users + suppressed_users and processed_users + failed_users = total_users))),
  constraint scheduled_trigger_execution_rule_fkey foreign key (organization_id, line_oa_id, trigger_rule_id)
    references trigger_rule (organization_id, line_oa_id, id),
  constraint uq_scheduled_trigger_execution unique (trigger_rule_id, scheduled_at)
);
-- readers: the announcement of cycles that are to go on, and the count of those that are read
create index idx_scheduled_trigger_execution_open on scheduled_trigger_execution (trigger_rule_id, scheduled_at) where status = 'processing';
-- reader: the sweep of what cancelled cycles left waiting
create index idx_scheduled_trigger_execution_unswept on scheduled_trigger_execution (id) where status = 'cancelled' and not swept;
call guard_moves('scheduled_trigger_execution',
                 'processing>processing', 'processing>completed', 'processing>failed', 'processing>cancelled');
-- Whoever is behind it has an action: a cursor that went back would count them again.
create trigger scheduled_trigger_execution_cursor_goes_ahead before update on scheduled_trigger_execution for each row
  when (new.cursor_user_id < old.cursor_user_id)
  execute function refuse_change('the cursor of a cycle never goes back');

-- A campaign and when it starts.
create table campaign (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  name text not null,
  status text not null default 'draft' constraint campaign_status_known
    check (status in ('draft', 'scheduled', 'sending', 'paused', 'sent', 'failed', 'cancel', 'needs_attention')),
  cast_type text not null constraint campaign_cast_type_known check (cast_type in ('broadcast', 'multicast')),
  audience_id bigint,
  start_date timestamptz,
  not_after timestamptz,
  claimed_at timestamptz,
  claimed_by text,
  fence bigint not null default 0,
  created_date timestamptz not null default app_now(),
  updated_date timestamptz not null default clock_timestamp(),
  deleted_date timestamptz,
  -- NULL is never older than anything: a sending row without a claim time could never be reaped
  constraint campaign_sending_is_claimed check (status <> 'sending' or claimed_at is not null),
  constraint campaign_scheduled_has_start check (status <> 'scheduled' or start_date is not null),
  constraint campaign_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- reader: the claim of campaigns whose minute has come
create index idx_campaign_scheduled on campaign (start_date, id) where status = 'scheduled' and deleted_date is null;
call guard_moves('campaign',
                 'draft>draft', 'draft>scheduled', 'draft>cancel', 'scheduled>draft', 'scheduled>scheduled', 'scheduled>sending',
                 'scheduled>paused', 'scheduled>cancel', 'scheduled>failed', 'sending>sending', 'sending>scheduled', 'sending>paused',
                 'sending>cancel', 'sending>sent', 'sending>failed', 'sending>needs_attention', 'paused>paused', 'paused>draft', 'paused>scheduled',
                 'paused>cancel', 'needs_attention>needs_attention', 'needs_attention>draft', 'needs_attention>scheduled', 'needs_attention>cancel',
                 'needs_attention>sent');

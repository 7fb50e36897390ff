-- Work that waits for its time.
create table scheduled_action (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  trigger_rule_id bigint,
  rule_version integer,
  event_id uuid,
  root_id uuid,
  user_id text collate "C" not null,
  action_type text not null,
  action_config jsonb not null,
  source_config jsonb,
  execute_at timestamptz not null,
  due_at timestamptz not null,
  expires_at timestamptz,
  executed_at timestamptz,
  status text not null default 'pending' constraint scheduled_action_status_known
    check (status in ('pending', 'processing', 'done', 'failed', 'cancelled')),
  retry_count smallint not null default 0,
  rescue_count smallint not null default 0,
  attempt smallint not null default 0,
  fence bigint not null default 0,
  gen integer not null default 0,
  claimed_by text,
  claimed_via text constraint scheduled_action_claimed_via_known check (claimed_via in ('inline', 'queue')),
  lease_until timestamptz,
  cancel_reason text,
  last_error text,
  dedup_key text collate "C" not null,
  workflow_id bigint,
  workflow_node_path text,
  traceparent text,
  created_at timestamptz not null default app_now(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint scheduled_action_lease_while_processing check ((status = 'processing') = (lease_until is not null)),
  constraint scheduled_action_ended_has_time check ((status in ('done', 'failed', 'cancelled')) = (executed_at is not null)),
  constraint scheduled_action_cancelled_has_reason check (status <> 'cancelled' or cancel_reason is not null),
  -- what the row stands for, for ever: the same event and rule never schedule twice
  constraint scheduled_action_dedup_key unique (line_oa_id, dedup_key)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
-- nobody searches by these: ANALYZE need not read them
alter table scheduled_action alter action_config set statistics 0, alter source_config set statistics 0, alter last_error set statistics 0;
-- readers: the claim and the look-ahead, oldest due first
create index idx_scheduled_action_pending on scheduled_action (execute_at, id) where status = 'pending';
-- reader: recoverStaleProcessing; not on lease_until, so that writing a lease stays a HOT update
create index idx_scheduled_action_processing on scheduled_action (id) where status = 'processing';
-- reader: what is open for this person and rule; partial, because beside millions of done rows a full one doubles the WAL
create index idx_scheduled_action_user on scheduled_action (user_id, trigger_rule_id) where status in ('pending', 'processing');

call guard_moves('scheduled_action',
                 'pending>processing', 'pending>pending', 'pending>done', 'pending>failed', 'pending>cancelled', 'processing>done',
                 'processing>pending', 'processing>failed', 'processing>cancelled', 'failed>pending', 'cancelled>pending');
-- Who decides a row that he holds and did not claim counts the try that a claim would have counted.
create trigger scheduled_action_unclaimed_end_counts_a_try after update on scheduled_action for each row
  when (old.status = 'pending' and new.status in ('done', 'failed') and new.attempt <> old.attempt + 1)
  execute function refuse_change('a row that is done or failed without a claim counts its try');
-- The audit looks for them too.
create trigger scheduled_action_has_account after insert on scheduled_action
  referencing new table as after_rows for each statement execute function refuse_strangers();
create trigger scheduled_action_account_is_fixed after update of id, organization_id, line_oa_id, trigger_rule_id on scheduled_action for each row
  when (old.id <> new.id or old.organization_id <> new.organization_id or old.line_oa_id <> new.line_oa_id
     or old.trigger_rule_id is distinct from new.trigger_rule_id)
  execute function refuse_change('account and rule of an action never change');
create trigger scheduled_action_time_needs_fence after update on scheduled_action for each row
  when (old.execute_at is distinct from new.execute_at and old.fence = new.fence)
  execute function refuse_change('a new execute_at needs a new fence');
create trigger scheduled_action_revival_needs_gen after update on scheduled_action for each row
  when (old.status in ('failed', 'cancelled') and new.status = 'pending' and new.gen <= old.gen)
  execute function refuse_change('a row that ended runs again only under a new gen');

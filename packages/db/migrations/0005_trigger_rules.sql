-- When X happens, do Y. Soft-deleted by deleted_date.
create table trigger_rule (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  name text not null,
  version integer not null default 1,
  source_type text not null constraint trigger_rule_source_type_known check (source_type in
    ('attribute_changed', 'form_submitted', 'campaign_click', 'friend_track_event_inserted', 'booking_event', 'custom_event', 'scheduled_time')),
  source_config jsonb not null,
  -- what the rule listens to of its source: an attribute, a form, a link or a name; null: to all of it, or it cannot be read
  source_key text collate "C" generated always as (left(
    case source_type when 'attribute_changed' then source_config ->> 'attribute' when 'form_submitted' then source_config ->> 'formId'
                     when 'campaign_click' then source_config ->> 'trackedLinkId' when 'custom_event' then source_config ->> 'name' end,
    128)) stored,
  action_type text not null constraint trigger_rule_action_type_known check (action_type in
    ('send_message', 'switch_rich_menu', 'unlink_rich_menu', 'add_to_audience', 'remove_from_audience', 'set_attribute', 'call_webhook')),
  action_config jsonb not null,
  enabled boolean not null default true,
  -- draft: not looked at; observe: judged and written down, and nothing is done
  mode text not null default 'live' constraint trigger_rule_mode_known check (mode in ('draft', 'observe', 'live')),
  frequency text not null default 'once_per_hour' constraint trigger_rule_frequency_known
    check (frequency in ('every_time', 'once', 'once_per_hour', 'once_per_day', 'once_per_week')),
  cooldown_seconds integer not null default 0 constraint trigger_rule_cooldown_is_positive check (cooldown_seconds >= 0),
  -- whether a person enters anew: also while waiting under the rule, only when no longer, or never again
  reentry text not null default 'always' constraint trigger_rule_reentry_known check (reentry in ('always', 'not_while_open', 'never')),
  -- what it sends neither counts for the caps of its account nor is held back by them
  exempt_from_caps boolean not null default false,
  -- every person that it did not match has a row in the history, also of a flood
  full_history boolean not null default false,
  workflow_id bigint,
  workflow_node_path text,
  created_date timestamptz not null default app_now(),
  updated_date timestamptz not null default app_now(),
  deleted_date timestamptz,
  constraint trigger_rule_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id),
  constraint trigger_rule_tenant_key unique (organization_id, line_oa_id, id)
);
-- reader: the live rules of an account
create index idx_trigger_rule_line_oa on trigger_rule (line_oa_id, organization_id);
-- reader: the rules that an event may set off
create index idx_trigger_rule_source on trigger_rule (line_oa_id, source_type, source_key) where enabled and deleted_date is null;
-- reader: the purge of deleted rules
create index idx_trigger_rule_deleted_date on trigger_rule (deleted_date);
create trigger trigger_rule_is_kept before delete on trigger_rule for each row
  execute function refuse_change('a rule is deleted by its deleted_date');
create trigger trigger_rule_is_not_truncated before truncate on trigger_rule for each statement
  execute function refuse_change('a rule is deleted by its deleted_date');
create trigger trigger_rule_key_is_fixed before update of id, organization_id, line_oa_id on trigger_rule for each row
  when (old.id <> new.id or old.organization_id <> new.organization_id or old.line_oa_id <> new.line_oa_id)
  execute function refuse_change('a rule never changes its account');

-- In place of foreign keys, for what is written most: a foreign key asks and locks the account and the rule once per row, this
-- asks once per statement for those that it names. No lock is needed, because neither is ever deleted or changes its key. Not by
-- `exists`, which the planner may turn into reading all rules.
create function refuse_strangers() returns trigger language plpgsql as $$
declare
  stranger record;
begin
  select * into stranger
    from (select distinct organization_id, line_oa_id, trigger_rule_id from after_rows) as named
   where case when trigger_rule_id is null
              then (select true from line_oa where line_oa.id = named.line_oa_id and line_oa.organization_id = named.organization_id)
              else (select true from trigger_rule as rule -- whose account is the organization's, by a foreign key
                     where rule.id = named.trigger_rule_id and rule.line_oa_id = named.line_oa_id
                       and rule.organization_id = named.organization_id)
         end is null
   limit 1;
  if found then
    raise exception '%: organization % has no account % with rule %', tg_table_name, stranger.organization_id, stranger.line_oa_id,
      stranger.trigger_rule_id using errcode = 'foreign_key_violation';
  end if;
  return null;
end $$;

-- How often a rule fired for a user: one row, upserted in the transaction that decides, so two events cannot both pass.
create table rule_gate (
  organization_id bigint not null,
  line_oa_id bigint not null,
  trigger_rule_id bigint not null,
  user_id text collate "C" not null,
  -- what a rule would have done while it observed limits nothing that it does when it is live
  mode text not null default 'live' constraint rule_gate_mode_known check (mode in ('observe', 'live')),
  last_fired_at timestamptz not null,
  fired_count integer not null default 1,
  primary key (trigger_rule_id, user_id, mode),
  constraint rule_gate_rule_fkey foreign key (organization_id, line_oa_id, trigger_rule_id)
    references trigger_rule (organization_id, line_oa_id, id)
) with (fillfactor = 80);

-- Every evaluation and what came of it, with the action as it was at that moment; of floods that a rule does not match, counts. The default
-- of status is the seeds'; our code always writes it. Reasons are a closed list, that of trigger-rules.
create table trigger_log (
  id bigint generated always as identity,
  created_date timestamptz not null default app_now(),
  organization_id bigint not null,
  line_oa_id bigint not null,
  trigger_rule_id bigint,
  rule_version integer,
  audience_id bigint,
  -- null: the row counts several evaluations
  user_id text collate "C",
  trigger_on text not null,
  action_type text,
  action_config jsonb,
  status text not null default 'success' constraint trigger_log_status_known
    check (status in ('success', 'skipped', 'cancelled', 'failed')),
  error_message text,
  decision text not null constraint trigger_log_decision_known
    check (decision in ('fired', 'scheduled', 'observed', 'unlocked', 'deferred', 'not_matched', 'suppressed', 'cancelled', 'retried', 'failed')),
  reason_code text not null constraint trigger_log_reason_known check (reason_code in (
    'matched', 'due', 'value_not_matched', 'conditions_not_met', 'conditions_no_longer_hold', 'frequency', 'frequency_cap',
    'entered_before', 'already_done', 'fact_in_time', 'fact_late', 'already_scheduled', 'already_pending', 'wait_expired',
    'date_past', 'no_date', 'date_moved', 'date_gone', 'booking_cancelled', 'user_unknown', 'user_not_following',
    'rule_disabled', 'rule_deleted', 'rule_invalid', 'content_invalid', 'decision_failed', 'skipped_while_stopped', 'expired',
    'quiet_hours', 'account_stopped', 'kills_its_process', 'audience_deleted', 'rich_menu_deleted', 'rule_loops',
    'cycle_cancelled')),
  detail jsonb,
  event_id uuid,
  cause_id uuid,
  root_id uuid,
  scheduled_action_id bigint,
  delivery_id bigint,
  -- how many evaluations the row stands for
  evaluations integer not null default 1,
  primary key (id, created_date),
  -- only what a rule did not match may be counted instead of written down; what was done, or ended, has a row of its own
  constraint trigger_log_only_unmatched_is_counted check (
    case when user_id is not null then evaluations = 1
         else evaluations > 1 and decision = 'not_matched' and trigger_rule_id is not null and event_id is null
              and scheduled_action_id is null and delivery_id is null end)
) partition by range (created_date);
-- reader: the history screen of a rule; nulls first, so that a plain ORDER BY … DESC uses it
create index idx_trigger_log_rule on trigger_log (trigger_rule_id, created_date desc nulls first);
-- reader: the timeline of a person
create index idx_trigger_log_user on trigger_log (line_oa_id, user_id, created_date desc nulls first);
-- nobody searches by these: ANALYZE need not read them
alter table trigger_log alter action_config set statistics 0, alter error_message set statistics 0, alter detail set statistics 0;
select make_partitions('trigger_log', 'created_date', 2);

-- Work that waits for a person or a date, that a person may change, and that may be stopped.

-- The emergency stop, of one account or of all of an organization; quiet hours are local times of the account's zone.
alter table organization add column stopped_at timestamptz;
alter table line_oa
  add column stopped_at timestamptz,
  -- refuses with 22023 what this database knows no zone by: each decision of the account would fail
  add constraint line_oa_timezone_is_known check (now() at time zone timezone is not null),
  add column quiet_from text constraint line_oa_quiet_from_is_local_time check (quiet_from ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'),
  add column quiet_to text constraint line_oa_quiet_to_is_local_time check (quiet_to ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'),
  add column quiet_policy text not null default 'shift' constraint line_oa_quiet_policy_known check (quiet_policy in ('shift', 'drop', 'ignore')),
  add column spread_minutes smallint not null default 10 constraint line_oa_spread_minutes_in_a_day check (spread_minutes between 0 and 1440),
  add constraint line_oa_quiet_hours_have_both_ends check ((quiet_from is null) = (quiet_to is null) and (quiet_from is null or quiet_from <> quiet_to));
grant select (stopped_at, quiet_from, quiet_to, quiet_policy, spread_minutes) on line_oa to dueline_tenant;

-- A zone of the IANA database as Region/City, or UTC; else null. Shorter names are refused, because Postgres reads some of
-- them otherwise than people mean: 'GMT+7' is seven hours west.
create function usable_zone(zone text) returns text language plpgsql stable as $$
begin
  if zone !~ '^(UTC|[A-Za-z_]+(/[A-Za-z_-]+)+|Etc/GMT[+-][0-9]{1,2})$' then
    return null;
  end if;
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return null;
end $$;

-- What a person's attribute says about a date, as an instant: YYYY-MM-DD is 00:00 in the zone, a date and time without an offset
-- is the zone's, one with an offset is that instant; everything else is no date.
create function date_of_text(value text, zone text) returns timestamptz language plpgsql stable as $$
begin
  if value ~ '^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?$' then
    return value::timestamp at time zone zone;
  elsif value ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$' then
    return value::timestamptz;
  end if;
  return null;
exception when data_exception then -- a day, time or offset that does not exist
  return null;
end $$;

-- The instant that a delay names, counted from `start`. Seconds are seconds. Calendar steps are taken on the local clock of the
-- zone, months first: a day that the month lacks is its last one. A local time that the clock skips (spring) is as much later as
-- the clock jumps; one that it shows twice (autumn) is the second: never early. A time of day without steps is the next one.
create function delay_due(delay jsonb, start timestamptz, zone text) returns timestamptz language plpgsql stable as $$
declare
  seconds double precision := coalesce(delay -> 'seconds', delay -> 'expiresSeconds', delay -> 'delaySeconds', delay -> 'offsetSeconds');
  stepped timestamp;
begin
  if seconds is not null then
    return start + make_interval(secs => seconds);
  end if;
  stepped := start at time zone zone
    + make_interval(months => coalesce((delay -> 'months')::int, 0), weeks => coalesce((delay -> 'weeks')::int, 0),
                    days => coalesce((delay -> 'days')::int, (delay -> 'offsetDays')::int, 0));
  if delay ? 'at' then
    stepped := date_trunc('day', stepped) + (delay ->> 'at')::time;
  end if;
  if delay ->> 'mode' = 'normal' and stepped at time zone zone <= start then
    stepped := stepped + interval '1 day';
  end if;
  return stepped at time zone zone;
end $$;

alter table scheduled_action
  -- 0: somebody waits for it now (unlocked, fired by hand, without delay); 1: normal; 2: bulk
  add column lane smallint not null default 1 constraint scheduled_action_lane_known check (lane in (0, 1, 2)),
  -- how execute_at came about, so that it can be computed anew
  add column delay_spec jsonb,
  -- what execute_at hangs on, when that may move: attribute:<name> or booking:<id>
  add column anchor_ref text collate "C",
  -- the window of a wait is [anchor_at, expires_at)
  add column anchor_at timestamptz,
  -- which way a wait went, null until that is decided; set once per gen
  add column branch text constraint scheduled_action_branch_is_a_word check (branch ~ '^[a-z][a-z0-9_]{0,31}$'),
  add column max_lateness_seconds integer constraint scheduled_action_max_lateness_is_positive check (max_lateness_seconds >= 0),
  -- re-entry: at most one open row of this key
  add column open_key text collate "C",
  add constraint scheduled_action_wait_has_window check ((expires_at is null) = (anchor_at is null));
create unique index scheduled_action_open_key on scheduled_action (line_oa_id, open_key)
  where status in ('pending', 'processing') and open_key is not null;
drop index idx_scheduled_action_pending;
-- reader: the claim, which takes a share of each account and lane, oldest due first
create index idx_scheduled_action_pending on scheduled_action (lane, line_oa_id, execute_at, id) where status = 'pending';
-- reader: the look-ahead of the alarm. "gen >= 0" is always true, and said by its reader only: this index must not offer itself to the
-- claim, which would read the due rows of everybody to find those of one account.
create index idx_scheduled_action_due on scheduled_action (execute_at) where status = 'pending' and gen >= 0;
-- reader: a date moved, and with it what hangs on it
create index idx_scheduled_action_anchor on scheduled_action (line_oa_id, user_id, anchor_ref)
  where status in ('pending', 'processing') and anchor_ref is not null;
-- reader: the sweep that looks for facts older than the row that waits for them
create index idx_scheduled_action_waiting on scheduled_action (anchor_at) where status = 'pending' and anchor_at is not null and branch is null;

create trigger scheduled_action_branch_needs_fence after update on scheduled_action for each row
  when (old.branch is distinct from new.branch and old.fence = new.fence)
  execute function refuse_change('a new branch needs a new fence');
create trigger scheduled_action_branch_is_set_once after update on scheduled_action for each row
  when (old.branch is not null and old.branch is distinct from new.branch and old.gen = new.gen)
  execute function refuse_change('a branch is set once; only a new gen waits again');

-- Claimers LISTEN for rows that are due before they are sure to look: they look each second at what is due within two, so a row that
-- is due in more than one and a half costs its writer no NOTIFY (tell_of_inserted_actions).
-- SECURITY DEFINER, so that writers need no right on the gate.
insert into notify_gate values ('scheduled_action_due', '-infinity');
create function wake_scheduled_action_due() returns void language sql security definer set search_path = pg_catalog, public, pg_temp
  as $$ select notify_gated('scheduled_action_due') $$;

-- How much later than the others a row of a crowd is let go: the same for a row each time, evenly spread over the smaller of
-- `minutes` and a tenth of the window in which the crowd gathered.
create function spread(user_id text, row_id bigint, minutes integer, gathered interval) returns interval language sql immutable parallel safe as $$
  select least(make_interval(mins => minutes), gathered / 10)
         * (((hashtextextended(user_id || ':' || row_id, 0) % 1000 + 1000) % 1000) / 1000.0)::double precision
$$;

-- What is written beside an action names the tenant of the action. Not by a foreign key: the unique key that it wants would be
-- one more index to write at each move of an action.
create function refuse_other_tenants_action() returns trigger language plpgsql as $$
declare
  stranger record;
begin
  select * into stranger from after_rows as beside
   where not exists (select from scheduled_action as action
                      where action.id = beside.scheduled_action_id and action.line_oa_id = beside.line_oa_id
                        and action.organization_id = beside.organization_id)
   limit 1;
  if found then
    raise exception '%: account % of organization % has no action %', tg_table_name, stranger.line_oa_id, stranger.organization_id,
      stranger.scheduled_action_id using errcode = 'foreign_key_violation';
  end if;
  return null;
end $$;

-- What may end a wait early: any one of these facts about the person, and the branch that it leads to.
create table action_wait (
  scheduled_action_id bigint not null,
  n smallint not null,
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null,
  source text collate "C" not null constraint action_wait_source_known check (source in ('link', 'form', 'booking', 'attribute', 'friend', 'message')),
  -- which link, form, booking or attribute; null: any of this kind
  ref_id text collate "C",
  branch text not null constraint action_wait_branch_is_a_word check (branch ~ '^[a-z][a-z0-9_]{0,31}$'),
  primary key (scheduled_action_id, n),
  constraint action_wait_action_fkey foreign key (scheduled_action_id) references scheduled_action (id) on delete cascade
);
-- reader: a fact looks for who waits for it
create index idx_action_wait_user on action_wait (line_oa_id, user_id, source, ref_id);
create trigger action_wait_has_action after insert on action_wait
  referencing new table as after_rows for each statement execute function refuse_other_tenants_action();
create trigger action_wait_action_is_fixed before update of scheduled_action_id, organization_id, line_oa_id on action_wait for each row
  when (old.scheduled_action_id <> new.scheduled_action_id or old.organization_id <> new.organization_id or old.line_oa_id <> new.line_oa_id)
  execute function refuse_change('a wait never changes its action');

-- What people did to waiting work, and why.
create table scheduled_action_edit (
  id bigint generated always as identity primary key,
  scheduled_action_id bigint not null,
  organization_id bigint not null,
  line_oa_id bigint not null,
  operation text not null constraint scheduled_action_edit_operation_known
    check (operation in ('edit', 'postpone', 'fire_now', 'cancel', 'uncancel', 'revive', 'dismiss')),
  before jsonb not null,
  after jsonb not null,
  edited_by text not null,
  reason text,
  created_at timestamptz not null default app_now(),
  constraint scheduled_action_edit_action_fkey foreign key (scheduled_action_id) references scheduled_action (id) on delete cascade
);
-- reader: the history of one action, oldest first
create index idx_scheduled_action_edit_action on scheduled_action_edit (scheduled_action_id, id);
create trigger scheduled_action_edit_has_action after insert on scheduled_action_edit
  referencing new table as after_rows for each statement execute function refuse_other_tenants_action();
create trigger scheduled_action_edit_is_history before update on scheduled_action_edit for each row
  execute function refuse_change('an audit trail is only written to');

-- A change of many waiting actions that a person was shown and has to confirm: what, and by its steps which rows under which fence.
create table action_operation (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  -- only who was shown the preview has the token
  token_sha256 text not null constraint action_operation_token_key unique,
  operation jsonb not null,
  previewed_by text not null,
  reason text,
  created_at timestamptz not null default app_now(),
  expires_at timestamptz not null,
  confirmed_by text,
  confirmed_at timestamptz,
  constraint action_operation_confirmed_by_somebody check ((confirmed_at is null) = (confirmed_by is null)),
  constraint action_operation_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id),
  constraint action_operation_tenant_key unique (organization_id, line_oa_id, id)
);

-- What of it is changed in one transaction: at most 500 rows, in id order. Its outcome is null until that is done.
create table action_operation_step (
  operation_id bigint not null,
  n integer not null,
  organization_id bigint not null,
  line_oa_id bigint not null,
  action_ids bigint[] not null,
  fences bigint[] not null,
  outcome jsonb,
  primary key (operation_id, n),
  constraint action_operation_step_is_whole check (cardinality(action_ids) = cardinality(fences) and cardinality(action_ids) between 1 and 500),
  constraint action_operation_step_operation_fkey foreign key (organization_id, line_oa_id, operation_id)
    references action_operation (organization_id, line_oa_id, id) on delete cascade
);

-- The rows that a process is deciding, where its death would not show otherwise: committed beside the transaction that decides
-- them, which deletes the row again. What is left of a process that died says what it died with. One row per process.
create table batch_in_hand (
  claimed_by text collate "C" primary key,
  kind text collate "C" not null constraint batch_in_hand_kind_known check (kind in ('action', 'event')),
  ids bigint[] not null,
  lease_until timestamptz not null
);

-- alone: it was in hand when a process died, and from now on it is decided alone. rescue_count: how many processes died that had
-- it alone in hand, which is evidence that it kills them; more than four, and it is given up.
alter table scheduled_action add column alone boolean not null default false;
alter table event_outbox
  add column alone boolean not null default false,
  add column rescue_count smallint not null default 0;

-- What becomes of waiting actions whose rule is disabled when they come due: cancelled, or held until it is enabled.
alter table trigger_rule add column when_disabled text not null default 'cancel'
  constraint trigger_rule_when_disabled_known check (when_disabled in ('cancel', 'hold'));
-- reader: the sweep of what a deleted rule left
create index idx_scheduled_action_rule on scheduled_action (trigger_rule_id, id) where status = 'pending' and trigger_rule_id is not null;

-- When the quiet hours end that `at` lies in, by the clocks of `zone`; null when it lies in none. From 22:00 to 07:00 is over
-- midnight. Where clocks change, the first instant at which local time is out of quiet hours; an end that the change skips
-- is the instant after the gap.
create function quiet_until(at timestamptz, zone text, quiet_from text, quiet_to text) returns timestamptz
language plpgsql stable parallel safe as $$
declare
  local_now timestamp := at at time zone zone;
  starts time := quiet_from::time;
  ends time := quiet_to::time;
  local_end timestamp;
  unchanged timestamptz;
begin
  if quiet_from is null then return null; end if;
  if starts < ends then
    if local_now::time < starts or local_now::time >= ends then return null; end if;
    local_end := local_now::date + ends;
  else
    if local_now::time < starts and local_now::time >= ends then return null; end if;
    local_end := local_now::date + ends + case when local_now::time >= starts then interval '1 day' else interval '0' end;
  end if;
  unchanged := at + (local_end - local_now);
  return case when unchanged at time zone zone = local_end then unchanged else local_end at time zone zone end;
end $$;

-- When a message that `at` finds in the quiet hours of its account may go, with its place in the spread; null: at once.
create function after_quiet_hours(at timestamptz, account line_oa, user_id text, row_id bigint) returns timestamptz
language sql stable parallel safe as $$
  select quiet_until(at, account.timezone, account.quiet_from, account.quiet_to)
       + spread(user_id, row_id, account.spread_minutes, mod(
           (extract(epoch from account.quiet_from::time - account.quiet_to::time) + 86400)::int, 86400) * interval '1 second')
$$;

-- What needs a person: work that ended otherwise than it should, and that nothing will repair by itself.
create table attention_item (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  kind text collate "C" not null constraint attention_item_kind_known check (kind in ('action_failed', 'event_dead', 'delivery_unknown', 'delivery_refused', 'account_paused', 'rule_failed', 'rule_loops', 'possible_platform_loss', 'campaign_not_sent')),
  -- the id of the row it speaks of, in the table that its kind names
  ref_id text collate "C" not null,
  user_id text collate "C",
  reason_code text not null,
  detail jsonb,
  status text not null default 'open' constraint attention_item_status_known check (status in ('open', 'resolved', 'dismissed')),
  opened_at timestamptz not null default app_now(),
  closed_at timestamptz,
  closed_by text,
  resolution text,
  constraint attention_item_closed_has_time check ((status = 'open') = (closed_at is null)),
  constraint attention_item_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- one open item per row, however often it fails
create unique index attention_item_open_key on attention_item (kind, ref_id) where status = 'open';
-- reader: the list of what is open for an account, oldest first
create index idx_attention_item_open on attention_item (line_oa_id, id) where status = 'open';

-- Who stopped and resumed what, and why.
create table audit_log (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  -- null: the whole organization
  line_oa_id bigint,
  operation text not null,
  before jsonb,
  after jsonb,
  done_by text not null,
  reason text,
  created_at timestamptz not null default app_now(),
  constraint audit_log_organization_fkey foreign key (organization_id) references organization (id),
  constraint audit_log_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
create trigger audit_log_is_history before update on audit_log for each row
  execute function refuse_change('an audit trail is only written to');

call isolate_tenants('action_operation', 'action_operation_step', 'action_wait', 'scheduled_action_edit', 'attention_item', 'audit_log');
revoke update, delete on scheduled_action_edit, audit_log from dueline_tenant;

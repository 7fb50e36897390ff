-- Facts about people, written by any service in plain SQL, append-only. A unique idempotency key makes a repeated report one
-- fact; the trigger turns each into an event of the outbox.
alter table event_outbox drop constraint event_outbox_topic_known;
alter table event_outbox add constraint event_outbox_topic_known
  check (topic in ('attribute_changed', 'form_submitted', 'campaign_click', 'friend_track_event_inserted', 'booking_event', 'custom_event', 'delivery_settled'));

-- A link whose clicks are counted.
create table tracked_link (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  name text not null,
  url text not null constraint tracked_link_url_is_web check (url ~ '^https?://' and length(url) <= 2000),
  created_date timestamptz not null default app_now(),
  deleted_date timestamptz,
  constraint tracked_link_tenant_key unique (organization_id, line_oa_id, id),
  constraint tracked_link_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- A link as it stands in one message to one person, or in the messages of a campaign, whose text is the same for everybody: its code is
-- what a click comes back with.
create table link_issue (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  tracked_link_id bigint not null,
  user_id text collate "C",
  code text collate "C" not null constraint link_issue_code_key unique,
  scheduled_action_id bigint,
  campaign_id bigint,
  created_date timestamptz not null default app_now(),
  constraint link_issue_is_of_one_or_all check ((user_id is null) <> (campaign_id is null)),
  constraint link_issue_tenant_key unique (organization_id, line_oa_id, id),
  constraint link_issue_link_fkey foreign key (organization_id, line_oa_id, tracked_link_id)
    references tracked_link (organization_id, line_oa_id, id),
  constraint link_issue_campaign_fkey foreign key (organization_id, line_oa_id, campaign_id)
    references campaign (organization_id, line_oa_id, id)
);
-- one code for a link in a campaign, and reader: the clicks of a campaign
create unique index uq_link_issue_campaign on link_issue (campaign_id, tracked_link_id) where campaign_id is not null;
create table link_click (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  tracked_link_id bigint not null,
  link_issue_id bigint,
  -- null: a link that is the same for everybody says whose campaign it is, not who clicked
  user_id text collate "C" constraint link_click_user_id_is_line check (user_id ~ '^U[0-9a-f]{32}$'),
  -- a preview of a messenger or a scanner: kept, and no reason to do anything
  is_robot boolean not null default false,
  user_agent text,
  idempotency_key text collate "C" not null,
  occurred_at timestamptz not null default app_now(),
  recorded_at timestamptz not null default clock_timestamp(),
  constraint link_click_is_of_something check (user_id is not null or link_issue_id is not null),
  constraint link_click_idempotency_key unique (line_oa_id, idempotency_key),
  constraint link_click_link_fkey foreign key (organization_id, line_oa_id, tracked_link_id)
    references tracked_link (organization_id, line_oa_id, id),
  constraint link_click_issue_fkey foreign key (organization_id, line_oa_id, link_issue_id)
    references link_issue (organization_id, line_oa_id, id)
);
-- reader: the last look of a wait, and of one that was made after its fact
create index idx_link_click_user on link_click (line_oa_id, user_id, tracked_link_id, occurred_at);
-- reader: the clicks of a campaign and how many people they are of
create index idx_link_click_issue on link_click (link_issue_id, user_id) where link_issue_id is not null and not is_robot;

create table form (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  name text not null,
  created_date timestamptz not null default app_now(),
  deleted_date timestamptz,
  constraint form_tenant_key unique (organization_id, line_oa_id, id),
  constraint form_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
create table form_submission (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  form_id bigint not null,
  user_id text collate "C" not null constraint form_submission_user_id_is_line check (user_id ~ '^U[0-9a-f]{32}$'),
  answers jsonb not null default '{}' constraint form_submission_answers_is_object check (jsonb_typeof(answers) = 'object'),
  idempotency_key text collate "C" not null,
  occurred_at timestamptz not null default app_now(),
  recorded_at timestamptz not null default clock_timestamp(),
  constraint form_submission_idempotency_key unique (line_oa_id, idempotency_key),
  constraint form_submission_form_fkey foreign key (organization_id, line_oa_id, form_id) references form (organization_id, line_oa_id, id)
);
-- reader: the last look of a wait
create index idx_form_submission_user on form_submission (line_oa_id, user_id, form_id, occurred_at);

-- An appointment: its date may move, and what hangs on it moves along.
create table booking (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null constraint booking_user_id_is_line check (user_id ~ '^U[0-9a-f]{32}$'),
  name text not null,
  starts_at timestamptz not null,
  created_date timestamptz not null default app_now(),
  updated_date timestamptz not null default app_now(),
  cancelled_date timestamptz,
  constraint booking_tenant_key unique (organization_id, line_oa_id, id),
  constraint booking_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
create table booking_event (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  booking_id bigint not null,
  user_id text collate "C" not null constraint booking_event_user_id_is_line check (user_id ~ '^U[0-9a-f]{32}$'),
  type text not null constraint booking_event_type_known check (type in ('created', 'rescheduled', 'cancelled', 'completed', 'no_show')),
  idempotency_key text collate "C" not null,
  occurred_at timestamptz not null default app_now(),
  recorded_at timestamptz not null default clock_timestamp(),
  constraint booking_event_idempotency_key unique (line_oa_id, idempotency_key),
  constraint booking_event_booking_fkey foreign key (organization_id, line_oa_id, booking_id)
    references booking (organization_id, line_oa_id, id)
);
-- reader: the last look of a wait
create index idx_booking_event_user on booking_event (line_oa_id, user_id, booking_id, occurred_at);

create table friend_track_event (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null constraint friend_track_event_user_id_is_line check (user_id ~ '^U[0-9a-f]{32}$'),
  type text not null constraint friend_track_event_type_known check (type in ('follow', 'unfollow')),
  -- who follows had blocked the account before, as LINE tells (follow.isUnblocked)
  is_unblocked boolean not null default false,
  -- LINE sends a webhook again until it is answered; its id stays
  webhook_event_id text collate "C" not null,
  occurred_at timestamptz not null default app_now(),
  recorded_at timestamptz not null default clock_timestamp(),
  constraint friend_track_event_webhook_event_id unique (line_oa_id, webhook_event_id),
  constraint friend_track_event_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- reader: the last look of a wait
create index idx_friend_track_event_user on friend_track_event (line_oa_id, user_id, occurred_at);

-- One event per fact about somebody: of a click of nobody known there is nothing to decide. Arguments: the topic, then the columns that the event carries, as text. Total, like the triggers of
-- line_user: only columns that the table has checked are read.
create function record_facts() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into event_outbox (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, root_id, traceparent)
  select event_id, tg_argv[0], organization_id, line_oa_id, user_id, payload, bulk, occurred_at, event_id, writer_traceparent()
    from (select gen_random_uuid() as event_id, fact.id, fact.organization_id, fact.line_oa_id, fact.user_id, fact.occurred_at,
                 (select jsonb_object_agg(key, value) from jsonb_each_text(to_jsonb(fact)) where key = any (tg_argv[1:])) as payload,
                 count(*) over () > 1000 as bulk
            from after_rows as fact
           where user_id is not null) as event
   order by line_oa_id, user_id, id;
  if found then
    perform notify_gated('event_outbox');
  end if;
  return null;
end $$;
create trigger link_click_recorded after insert on link_click
  referencing new table as after_rows for each statement
  execute function record_facts('campaign_click', 'id', 'tracked_link_id', 'link_issue_id', 'is_robot');
create trigger form_submission_recorded after insert on form_submission
  referencing new table as after_rows for each statement execute function record_facts('form_submitted', 'id', 'form_id');
create trigger booking_event_recorded after insert on booking_event
  referencing new table as after_rows for each statement execute function record_facts('booking_event', 'id', 'booking_id', 'type');
create trigger friend_track_event_recorded after insert on friend_track_event
  referencing new table as after_rows for each statement execute function record_facts('friend_track_event_inserted', 'id', 'type', 'is_unblocked');

do $$
declare
  fact_table text;
  tenant_table text;
begin
  foreach fact_table in array array['link_click', 'form_submission', 'booking_event', 'friend_track_event'] loop
    execute format('create trigger %I before update on %I for each row execute function refuse_change(''a fact happened: it is only written once'')',
                   fact_table || '_is_history', fact_table);
  end loop;
  foreach tenant_table in array array['tracked_link', 'link_issue', 'link_click', 'form', 'form_submission', 'booking', 'booking_event',
    'friend_track_event'] loop
    call isolate_tenants(tenant_table);
    -- written by any service, under a role of its own: row level security would hide its own rows from it, silently
    execute format('create policy other_services on %I using (current_user <> ''dueline_tenant'')', tenant_table);
  end loop;
end $$;

-- The kinds of facts that something of an account waits for or hangs on, or ever did. Attributes change by the hundred thousand: who
-- tells of one that nobody can wait for takes no locks and looks for nobody.
create table awaited_source (
  organization_id bigint not null,
  line_oa_id bigint not null,
  source text collate "C" not null constraint awaited_source_known check (source in ('link', 'form', 'booking', 'attribute', 'friend', 'message')),
  primary key (line_oa_id, source),
  constraint awaited_source_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
alter table awaited_source enable row level security;
create policy tenant_isolation on awaited_source to dueline_tenant
  using (organization_id = current_organization_id() and line_oa_id = current_line_oa_id());
grant select on awaited_source to dueline_tenant;

create function awaited_source_lock(account bigint, awaited text) returns bigint language sql immutable as $$
  select hashtextextended('awaited_source:' || account || ':' || awaited, 0)
$$;
-- The first wait of a kind holds this lock until it is committed, and looks at the facts after that; whoever asks meanwhile waits for it.
-- So a fact that was told "nobody waits" is older than the look of the wait that begins.
create function mark_awaited(organization bigint, account bigint, awaited text) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if exists (select from awaited_source where line_oa_id = account and source = awaited) then
    return;
  end if;
  perform pg_advisory_xact_lock(awaited_source_lock(account, awaited));
  insert into awaited_source (organization_id, line_oa_id, source) values (organization, account, awaited) on conflict do nothing;
end $$;
-- A statement of its own, outside the transaction that decides, so that the lock is held for the look only.
create function is_awaited(account bigint, awaited text) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(awaited_source_lock(account, awaited));
  return exists (select from awaited_source where line_oa_id = account and source = awaited);
end $$;

create function mark_waits() returns trigger language plpgsql as $$
begin
  perform mark_awaited(organization_id, line_oa_id, source)
     from (select distinct organization_id, line_oa_id, source from after_rows order by line_oa_id, source) as awaited;
  return null;
end $$;
create trigger action_wait_is_awaited after insert on action_wait
  referencing new table as after_rows for each statement execute function mark_waits();
-- A date that may move is a fact that its row hangs on: attribute:<name> or booking:<id>.
-- It wakes the claimers too: one function and one look for both, because for a single row each costs as much as two index entries.
create function tell_of_inserted_actions() returns trigger language plpgsql as $$
declare
  found_rows record;
begin
  select bool_or(anchor_ref is not null) as hang, bool_or(status = 'pending' and execute_at <= public.app_now() + interval '1.5 seconds') as are_due
    into found_rows from after_rows;
  if found_rows.hang then
    perform public.mark_awaited(organization_id, line_oa_id, source)
       from (select distinct organization_id, line_oa_id, split_part(anchor_ref, ':', 1) as source
               from after_rows where anchor_ref is not null order by line_oa_id, source) as awaited;
  end if;
  if found_rows.are_due then
    perform public.wake_scheduled_action_due();
  end if;
  return null;
end $$;
create trigger scheduled_action_inserted_is_told after insert on scheduled_action
  referencing new table as after_rows for each statement execute function tell_of_inserted_actions();
-- A rule announces what its rows will wait for or hang on, whoever writes it: the date that its first row hangs on may move
-- while that row is being inserted, before the row can say so. Total: what no rule can be is ignored.
create function mark_rule_waits() returns trigger language plpgsql as $$
declare
  delay jsonb := new.action_config -> 'delay';
begin
  perform mark_awaited(new.organization_id, new.line_oa_id, source)
     from (select case when delay -> 'to' ? 'attribute' then 'attribute' when delay -> 'to' ? 'bookingId' then 'booking' end as source
            where delay ->> 'mode' = 'relativeToDate'
           union
           select wait ->> 'source'
             from jsonb_array_elements(case when jsonb_typeof(delay -> 'waits') = 'array' then delay -> 'waits' else '[{"source": "link"}]' end) as wait
            where delay ->> 'mode' = 'waitForTracking'
            order by source) as awaited
    where source in ('link', 'form', 'booking', 'attribute', 'friend', 'message');
  return null;
end $$;
create trigger trigger_rule_waits_are_awaited after insert or update of action_config on trigger_rule
  for each row execute function mark_rule_waits();

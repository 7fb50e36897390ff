-- The campaign walk: what is sent, to whom (frozen in chunks when the sending starts), and how far it came.
alter table campaign
  add column messages jsonb not null default '[]' constraint campaign_messages_is_array check (jsonb_typeof(messages) = 'array'),
  -- who of the audience is left out, by the audiences and the ids that the author named
  add column excluded_audience_ids bigint[] not null default '{}',
  add column excluded_user_ids text[] not null default '{}',
  add column confirmed_count integer constraint campaign_confirmed_count_positive check (confirmed_count > 0),
  add column planned_count integer,
  add column frozen_at timestamptz,
  add column sent_at timestamptz,
  add column reason_code text,
  -- what the start counted, held or not: people, and messages of the month that are needed and left
  add column start_check jsonb,
  -- a person said that it starts although the month has too few messages for it
  add column ignores_quota boolean not null default false,
  add constraint campaign_broadcast_excludes_nobody
    check (cast_type <> 'broadcast' or (excluded_audience_ids = '{}' and excluded_user_ids = '{}')),
  -- the start as a person gave it, YYYY-MM-DDTHH:MM of a clock in start_zone, or of the account's when that is null; null: an instant was given
  add column start_local text constraint campaign_start_local_is_local_time
    check (start_local ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$'),
  add column start_zone text,
  add constraint campaign_start_zone_has_local check (start_zone is null or start_local is not null),
  add constraint campaign_start_local_has_instant check (start_local is null or start_date is not null),
  -- people whom it may reach within a minute; null: as fast as LINE allows
  add column max_per_minute integer constraint campaign_max_per_minute_in_range check (max_per_minute between 1 and 10000000),
  -- process time: only requests that ended since then count when it is judged whether it pauses itself
  add column judged_from timestamptz,
  -- since when it shall not go on; it is `cancel` when nothing of it is at LINE or in doubt any more
  add column cancel_requested_at timestamptz,
  add constraint campaign_tenant_key unique (organization_id, line_oa_id, id),
  add constraint campaign_cancel_is_for_good check (cancel_requested_at is null or status in ('paused', 'needs_attention', 'cancel')),
  add constraint campaign_sent_is_frozen check (sent_at is null or frozen_at is not null),
  add constraint campaign_multicast_has_audience check (cast_type <> 'multicast' or audience_id is not null or status in ('draft', 'cancel'));
-- readers: the close sweep and the reaper, over the few campaigns that are being sent
create index idx_campaign_sending on campaign (id) where status = 'sending';
-- readers: the close sweep, over what is cancelled and not at its end
create index idx_campaign_stopping on campaign (id) where cancel_requested_at is not null and status <> 'cancel';
-- What was frozen was promised to LINE under its retry keys.
create trigger campaign_content_is_fixed before update on campaign for each row
  when (old.frozen_at is not null
        and (old.messages is distinct from new.messages or old.audience_id is distinct from new.audience_id or old.cast_type <> new.cast_type
             or old.excluded_audience_ids <> new.excluded_audience_ids or old.excluded_user_ids <> new.excluded_user_ids
             or old.frozen_at is distinct from new.frozen_at or old.planned_count is distinct from new.planned_count))
  execute function refuse_change('content, audience and count of a campaign never change after its recipients were frozen');

-- A named set of an account's people.
create table audience (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  name text not null,
  created_date timestamptz not null default app_now(),
  updated_date timestamptz not null default app_now(),
  deleted_date timestamptz,
  constraint audience_tenant_key unique (organization_id, line_oa_id, id),
  constraint audience_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- Its primary key is also the order in which a freeze reads it.
create table audience_member (
  audience_id bigint not null,
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_id text collate "C" not null,
  created_date timestamptz not null default app_now(),
  primary key (audience_id, user_id),
  constraint audience_member_audience_fkey foreign key (organization_id, line_oa_id, audience_id)
    references audience (organization_id, line_oa_id, id),
  constraint audience_member_user_fkey foreign key (line_oa_id, user_id) references line_user (line_oa_id, user_id)
);
alter table campaign add constraint campaign_audience_fkey foreign key (organization_id, line_oa_id, audience_id)
  references audience (organization_id, line_oa_id, id);

-- Whom one request of a campaign reaches: frozen, at most 500, in id order. Null is a broadcast: LINE alone knows its friends.
create table campaign_chunk (
  campaign_id bigint not null,
  chunk_no integer not null constraint campaign_chunk_no_from_zero check (chunk_no >= 0),
  organization_id bigint not null,
  line_oa_id bigint not null,
  user_ids text[],
  user_count integer,
  primary key (campaign_id, chunk_no),
  constraint campaign_chunk_campaign_fkey foreign key (organization_id, line_oa_id, campaign_id)
    references campaign (organization_id, line_oa_id, id),
  constraint campaign_chunk_size check (user_ids is null or cardinality(user_ids) between 1 and 500),
  constraint campaign_chunk_is_counted check (user_count is not distinct from cardinality(user_ids))
);
create trigger campaign_chunk_is_fixed before update on campaign_chunk for each row
  execute function refuse_change('a chunk is frozen: its retry key stands for exactly these people');

alter table delivery
  add column campaign_id bigint,
  add column chunk_no integer,
  add constraint delivery_campaign_has_chunk check ((kind = 'campaign') = (campaign_id is not null) and (campaign_id is null) = (chunk_no is null)),
  add constraint delivery_push_has_user check ((kind = 'campaign') = (endpoint in ('multicast', 'broadcast'))),
  add constraint delivery_campaign_fkey foreign key (organization_id, line_oa_id, campaign_id)
    references campaign (organization_id, line_oa_id, id);
-- readers: the close of a campaign, its reaper, and the announcement of what is left of it
create index idx_delivery_campaign on delivery (campaign_id, status) where campaign_id is not null;
-- A retry must be the identical request: LINE knows it by its key alone. Looked at only where an UPDATE names one of these columns:
-- to compare the bodies at each status would read each twice.
create trigger delivery_content_is_fixed
  after update of id, body, body_sha256, user_id, organization_id, line_oa_id, trigger_rule_id, endpoint, campaign_id, chunk_no, retry_key,
                  ordinal, group_size
  on delivery for each row
  when (old.id <> new.id or old.body is distinct from new.body or old.body_sha256 is distinct from new.body_sha256
     or old.user_id is distinct from new.user_id or old.organization_id <> new.organization_id or old.line_oa_id <> new.line_oa_id
     or old.trigger_rule_id is distinct from new.trigger_rule_id or old.endpoint <> new.endpoint
     or old.campaign_id is distinct from new.campaign_id or old.chunk_no is distinct from new.chunk_no
     or old.ordinal <> new.ordinal or old.group_size <> new.group_size
     or (old.retry_key is distinct from new.retry_key and old.epoch = new.epoch))
  execute function refuse_change('body, recipient, account and endpoint of a delivery never change, its retry key only with its epoch');

call isolate_tenants('audience', 'audience_member', 'campaign_chunk');
-- Only the freeze writes chunks.
revoke insert, update, delete on campaign_chunk from dueline_tenant;

/** What connects to the database in production, each by a login of its own. Migrations run as the owner of the schema. */
export const APPS_WITH_ROLES = [
  'pg-listener',
  'trigger-worker',
  'cron-scheduler',
  'campaign-dispatcher',
  'line-delivery',
  'ops',
] as const;
export type AppWithRole = (typeof APPS_WITH_ROLES)[number];

const ALL = 'all';
type Columns = typeof ALL | readonly string[];

/** What an app may do to the rows of one table. */
export interface Rights {
  readonly select?: Columns;
  readonly insert?: Columns;
  readonly update?: Columns;
  readonly delete?: true;
  /** It may hold rows (FOR SHARE and the like) and change none: the right to this column, whose value a guard or a key keeps. */
  readonly holds?: string;
}

const READS: Rights = { select: ALL };
const ADDS: Rights = { select: ALL, insert: ALL };
const CHANGES: Rights = { select: ALL, update: ALL };
const WRITES: Rights = { select: ALL, insert: ALL, update: ALL };
const OWNS: Rights = { select: ALL, insert: ALL, update: ALL, delete: true };

/** An account but for its sealed credentials. */
const ACCOUNT = [
  ...['id', 'organization_id', 'channel_id', 'name', 'timezone', 'token_kind', 'status', 'stopped_at', 'deleted_date'],
  ...['quiet_from', 'quiet_to', 'quiet_policy', 'quiet_zone', 'spread_minutes', 'created_date'],
];
/** A campaign but for what it says, and to whom not. */
const CAMPAIGN = [
  ...['id', 'organization_id', 'line_oa_id', 'status', 'cast_type', 'audience_id', 'start_date', 'not_after', 'fence'],
  ...['claimed_at', 'claimed_by', 'frozen_at', 'sent_at', 'reason_code', 'max_per_minute', 'cancel_requested_at'],
  ...['confirmed_count', 'planned_count', 'updated_date', 'deleted_date'],
];
/** A delivery but for what it says. */
const DELIVERY = [
  ...['id', 'organization_id', 'line_oa_id', 'kind', 'logical_id', 'epoch', 'endpoint', 'ordinal', 'group_size'],
  ...[
    'split_path',
    'user_id',
    'trigger_rule_id',
    'scheduled_action_id',
    'campaign_id',
    'chunk_no',
    'event_id',
    'root_id',
  ],
  ...['retry_key', 'status', 'fence', 'claimed_by', 'lease_until', 'published_at', 'announce_count', 'next_attempt_at'],
  ...['first_attempt_at', 'deliver_until', 'accepted_at', 'line_request_id', 'line_accepted_request_id', 'reason_code'],
  ...['announce_end', 'traceparent', 'created_date', 'updated_date'],
];
/** An event but for what it tells. */
const EVENT = [
  ...['id', 'event_id', 'topic', 'organization_id', 'line_oa_id', 'user_id', 'bulk', 'occurred_at', 'recorded_at'],
  ...[
    'cause_id',
    'root_id',
    'depth',
    'traceparent',
    'replayed',
    'status',
    'attempts',
    'alone',
    'rescue_count',
    'fence',
  ],
  'lease_until',
];

/** What every app asks: whether the schema is there, and whose accounts are stopped. */
const EVERY_APP: Readonly<Record<string, Rights>> = {
  schema_migration: READS,
  organization: READS,
  line_oa: { select: ACCOUNT },
};

/**
 * What each app may do to each table, and nothing else; the one place for it. Columns are named where an app needs few of them, or must
 * not see some. Who reads rows that it then holds or changes needs the right to select them too.
 */
export const PRIVILEGES: Readonly<Record<AppWithRole, Readonly<Record<string, Rights>>>> = {
  'pg-listener': {
    ...EVERY_APP,
    event_outbox: { select: [...EVENT, 'ctid'], update: ['status', 'fence', 'lease_until'] },
  },
  'trigger-worker': {
    ...EVERY_APP,
    // what happened, and what is decided of it
    event_outbox: { select: ALL, update: ALL, delete: true },
    event_archive: ADDS,
    attribute_change: READS,
    batch_in_hand: OWNS,
    trigger_log: ADDS,
    rule_gate: WRITES,
    message_tally: WRITES,
    root_budget: OWNS,
    attention_item: ADDS,
    // what waits
    scheduled_action: WRITES,
    action_wait: ADDS,
    awaited_source: READS,
    scheduled_trigger_execution: CHANGES,
    rule_enrolment: CHANGES,
    // what is to be done
    delivery: { select: DELIVERY, insert: ALL, update: ['published_at', 'announce_count', 'updated_date'] },
    rich_menu_wish: WRITES,
    user_rich_menu: WRITES,
    audience: { select: ALL, holds: 'id' },
    audience_member: OWNS,
    line_user: { select: ALL, insert: ALL, update: ['attributes', 'is_following', 'blocked_at', 'updated_date'] },
    // what it is decided by
    trigger_rule: READS,
    frequency_cap: READS,
    rich_menu: { select: ALL, holds: 'id' },
    campaign: { select: CAMPAIGN },
    campaign_chunk: READS,
    link_issue: READS,
    link_click: READS,
    form_submission: READS,
    booking: READS,
    booking_event: READS,
    friend_track_event: READS,
    custom_event: READS,
  },
  'cron-scheduler': {
    ...EVERY_APP,
    scheduled_action: CHANGES,
    scheduled_trigger_execution: WRITES,
    cycle_schedule: CHANGES,
    superseded_calendar: { select: ALL, delete: true, holds: 'id' },
    trigger_rule: READS,
    trigger_log: ADDS,
    attention_item: ADDS,
    batch_in_hand: { select: ALL, delete: true },
    event_outbox: { select: EVENT, update: ['status', 'attempts', 'alone', 'rescue_count', 'fence', 'lease_until'] },
    delivery: {
      select: DELIVERY,
      update: [
        ...['status', 'fence', 'claimed_by', 'lease_until', 'published_at', 'announce_count', 'next_attempt_at'],
        ...['accepted_at', 'line_request_id', 'line_accepted_request_id', 'reason_code', 'updated_date', 'retry_key'],
        ...['epoch', 'first_attempt_at', 'deliver_until'],
      ],
    },
    delivery_attempt: READS,
    // whether a switch that was too late is what its person shall see
    rich_menu_wish: { select: ['line_oa_id', 'user_id', 'action_seq', 'delivery_id'] },
    user_rich_menu: { select: ['line_oa_id', 'user_id', 'action_seq'] },
    // the facts that a wait may have missed: that they are there, not what they say
    action_wait: READS,
    attribute_change: { select: ['line_oa_id', 'user_id', 'changed', 'occurred_at'] },
    link_click: { select: ['line_oa_id', 'user_id', 'tracked_link_id', 'is_robot', 'occurred_at'] },
    form_submission: { select: ['line_oa_id', 'user_id', 'form_id', 'occurred_at'] },
    booking_event: { select: ['line_oa_id', 'user_id', 'booking_id', 'type', 'occurred_at'] },
    friend_track_event: { select: ['line_oa_id', 'user_id', 'type', 'occurred_at'] },
    // how far the removal of what ended has come
    removal_walk: CHANGES,
    // how many rows are in no month
    attribute_change_default: { select: ['occurred_at'] },
    event_archive_default: { select: ['decided_at'] },
    trigger_log_default: { select: ['created_date'] },
  },
  'campaign-dispatcher': {
    ...EVERY_APP,
    campaign: {
      select: CAMPAIGN,
      update: ['status', 'claimed_at', 'claimed_by', 'fence', 'reason_code', 'updated_date'],
    },
    delivery: { select: ['campaign_id', 'status'] },
    attention_item: ADDS,
  },
  'line-delivery': {
    ...EVERY_APP,
    line_oa: { select: ALL, update: ['status'] },
    account_trouble: WRITES,
    audit_log: ADDS,
    attention_item: WRITES,
    month_quota: WRITES,
    sent_count: WRITES,
    sent_count_day: ADDS,
    delivery: WRITES,
    delivery_attempt: WRITES,
    broadcast_limit: WRITES,
    campaign_pace: WRITES,
    campaign: {
      select: ALL,
      update: [
        ...['status', 'claimed_at', 'claimed_by', 'fence', 'planned_count', 'frozen_at', 'sent_at', 'start_check'],
        ...['reason_code', 'judged_from', 'updated_date'],
      ],
    },
    campaign_chunk: ADDS,
    audience: READS,
    audience_member: READS,
    line_user: {
      select: ['organization_id', 'line_oa_id', 'user_id', 'is_following', 'blocked_at', 'timezone', 'created_date'],
    },
    rich_menu_wish: READS,
    user_rich_menu: { select: ALL, holds: 'user_id' },
    // what is planned for a rule is of a rule that is there
    trigger_rule: { select: ['id', 'organization_id', 'line_oa_id'] },
  },
  // Writes what people ask for, and reads whatever they may ask about; never the credentials that it stores.
  ops: {
    ...EVERY_APP,
    line_oa: {
      select: ACCOUNT,
      insert: ['organization_id', 'channel_id', 'name', 'timezone', 'channel_access_token_sealed'],
      update: [
        ...['channel_access_token_sealed', 'channel_secret_sealed', 'webhook_secret_sealed', 'token_kind', 'status'],
        'stopped_at',
      ],
    },
    organization: { select: ALL, insert: ['name', 'default_timezone'], update: ['stopped_at'] },
    account_trouble: WRITES,
    action_operation: OWNS,
    action_operation_step: WRITES,
    action_wait: READS,
    attention_item: CHANGES,
    attribute_change: READS,
    audience: READS,
    audience_member: READS,
    audit_log: ADDS,
    awaited_source: READS,
    batch_in_hand: READS,
    booking: READS,
    booking_event: READS,
    broadcast_limit: READS,
    campaign: WRITES,
    campaign_chunk: READS,
    campaign_pace: WRITES,
    campaign_preview: OWNS,
    custom_event: READS,
    cycle_schedule: CHANGES,
    delivery: WRITES,
    delivery_attempt: READS,
    event_archive: READS,
    event_outbox: { select: ALL, insert: ALL, update: ALL },
    form: READS,
    form_submission: READS,
    frequency_cap: OWNS,
    friend_track_event: READS,
    line_user: READS,
    link_click: READS,
    link_issue: WRITES,
    message_tally: WRITES,
    month_quota: WRITES,
    notify_gate: CHANGES,
    rich_menu: WRITES,
    rich_menu_wish: READS,
    root_budget: READS,
    rule_enrolment: WRITES,
    rule_gate: READS,
    scheduled_action: CHANGES,
    scheduled_action_edit: ADDS,
    scheduled_trigger_execution: WRITES,
    sent_count: READS,
    sent_count_day: READS,
    tracked_link: WRITES,
    trigger_log: ADDS,
    trigger_rule: WRITES,
    trigger_rule_version: READS,
    user_rich_menu: READS,
  },
};

/** Functions that not everybody may call, and who may. */
export const EXECUTES: Readonly<Partial<Record<AppWithRole, readonly string[]>>> = {
  'cron-scheduler': [
    'make_history_months(text,integer)',
    'detach_history_month(text,integer)',
    'drop_history_month(text)',
    'remove_ended_work(bigint[],bigint[])',
  ],
};

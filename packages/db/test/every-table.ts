import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { insertRow, insertUsers, lineUserId } from '@dueline/db/testing';

export const columnsOf = ({ organizationId, lineOaId }: Tenant) => ({
  organization_id: organizationId,
  line_oa_id: lineOaId,
});

/** A row of every tenant table, by table. */
export async function insertEverything(db: Db, tenant: Tenant): Promise<void> {
  const base = columnsOf(tenant);
  const user = { user_id: lineUserId(1) };
  await insertUsers(db, tenant, 1);
  await db.$client.query(`update line_user set attributes = '{"a": 1}' where line_oa_id = $1`, [tenant.lineOaId]); // event_outbox, attribute_change
  await db.$client.query(
    `insert into event_archive (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, root_id, depth)
     select event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, root_id, depth
       from event_outbox where line_oa_id = $1`,
    [tenant.lineOaId],
  );
  const send = { action_type: 'send_message', action_config: {} };
  const rule = await insertRow(db, 'trigger_rule', {
    ...{ ...base, ...send, name: 'rule', source_type: 'attribute_changed', source_config: {} },
  });
  const ruled = { ...base, trigger_rule_id: rule.id };
  await insertRow(db, 'rule_gate', { ...ruled, ...user, last_fired_at: new Date() });
  await insertRow(db, 'frequency_cap', { ...base, window_seconds: 60, max_messages: 1 });
  await insertRow(db, 'message_tally', { ...base, ...user });
  await insertRow(db, 'rule_enrolment', { ...ruled, rule_version: 1, per_minute: 1, started_by: 'x' });
  await insertRow(db, 'root_budget', { ...base, root_id: crypto.randomUUID(), decisions: 1 });
  await insertRow(db, 'trigger_log', { ...ruled, ...user, trigger_on: 'x', decision: 'fired', reason_code: 'matched' });
  const action = await insertRow(db, 'scheduled_action', {
    ...ruled,
    ...user,
    ...send,
    execute_at: new Date(),
    due_at: new Date(),
    dedup_key: 'key',
  });
  await insertRow(db, 'scheduled_trigger_execution', { ...ruled, scheduled_at: new Date() });
  await insertRow(db, 'cycle_schedule', { ...ruled, is_live: false });
  await insertRow(db, 'superseded_calendar', {
    ...{ ...ruled, source_config: {}, timezone: 'UTC', rule_version: 1, reason_code: 'rule_changed' },
    ...{ plan_from: new Date(), superseded_at: new Date() },
  });
  const campaign = await insertRow(db, 'campaign', { ...base, name: 'campaign', cast_type: 'broadcast' });
  await insertRow(db, 'campaign_chunk', { ...base, campaign_id: campaign.id, chunk_no: 0 });
  await insertRow(db, 'campaign_preview', {
    ...{
      ...base,
      campaign_id: campaign.id,
      token_sha256: `campaign ${tenant.lineOaId}`,
      fence: 0,
      definition_sha256: '',
    },
    ...{ previewed_by: 'x', expires_at: new Date() },
  });
  await insertRow(db, 'month_quota', base);
  await insertRow(db, 'campaign_pace', { ...base, campaign_id: campaign.id });
  const audience = await insertRow(db, 'audience', { ...base, name: 'audience' });
  await insertRow(db, 'audience_member', { ...base, ...user, audience_id: audience.id });
  const key = { retry_key: crypto.randomUUID() };
  const delivery = await insertRow(db, 'delivery', {
    ...{
      ...base,
      ...key,
      kind: 'action',
      logical_id: tenant.lineOaId,
      endpoint: 'push',
      body: '{}',
      body_sha256: '',
      deliver_until: new Date(),
    },
  });
  await insertRow(db, 'delivery_attempt', {
    ...base,
    ...key,
    delivery_id: delivery.id,
    attempt_no: 1,
    fence: 1,
    claimed_by: 'x',
  });
  const menu = await insertRow(db, 'rich_menu', { ...base, name: 'menu', line_rich_menu_id: 'richmenu-1' });
  const wished = { ...base, ...user, rich_menu_id: menu.id, action_seq: 1 };
  await insertRow(db, 'user_rich_menu', wished);
  await insertRow(db, 'rich_menu_wish', { ...wished, delivery_id: delivery.id });
  const acted = { ...base, scheduled_action_id: action.id };
  await insertRow(db, 'action_wait', { ...acted, ...user, n: 0, source: 'link', branch: 'clicked' });
  const operation = await insertRow(db, 'action_operation', {
    ...{ ...base, token_sha256: tenant.lineOaId, operation: {}, previewed_by: 'x', expires_at: new Date() },
  });
  await insertRow(db, 'action_operation_step', {
    ...{ ...base, operation_id: operation.id, n: 0, action_ids: `{${action.id}}`, fences: '{0}' },
  });
  await insertRow(db, 'scheduled_action_edit', { ...acted, operation: 'edit', before: {}, after: {}, edited_by: 'x' });
  await insertRow(db, 'attention_item', { ...base, kind: 'action_failed', ref_id: action.id, reason_code: 'x' });
  await insertRow(db, 'audit_log', { ...base, operation: 'stop', done_by: 'x' });
  await insertRow(db, 'account_trouble', base);
  await insertRow(db, 'sent_count', { ...base, day: '2026-01-01', ours: {} });
  await insertFacts(db, base, user);
}

async function insertFacts(db: Db, base: ReturnType<typeof columnsOf>, user: { user_id: string }): Promise<void> {
  const fact = { ...base, ...user, idempotency_key: 'x' };
  const named = { ...base, name: 'x' };
  const { id: linkId } = await insertRow(db, 'tracked_link', { ...named, url: 'https://example.com' });
  await insertRow(db, 'link_issue', { ...base, ...user, tracked_link_id: linkId, code: crypto.randomUUID() });
  await insertRow(db, 'link_click', { ...fact, tracked_link_id: linkId });
  const { id: formId } = await insertRow(db, 'form', named);
  await insertRow(db, 'form_submission', { ...fact, form_id: formId });
  const { id: bookingId } = await insertRow(db, 'booking', { ...named, ...user, starts_at: new Date() });
  await insertRow(db, 'booking_event', { ...fact, booking_id: bookingId, type: 'created' });
  await insertRow(db, 'broadcast_limit', base);
  await insertRow(db, 'custom_event', { ...fact, name: 'purchase' });
  await insertRow(db, 'friend_track_event', { ...base, ...user, type: 'follow', webhook_event_id: 'x' });
  await db.$client.query("delete from event_outbox where line_oa_id = $1 and topic <> 'attribute_changed'", [
    base.line_oa_id,
  ]);
}

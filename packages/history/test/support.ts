import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { insertRow, lineUserId } from '@dueline/db/testing';

export const USER = lineUserId(7);

export const tenantColumns = ({ organizationId, lineOaId }: Tenant) => ({
  organization_id: organizationId,
  line_oa_id: lineOaId,
});

/** A rule of the account, on an attribute unless said otherwise; its id. */
export async function insertRule(db: Db, tenant: Tenant, changes: object = {}): Promise<string> {
  const source = { source_type: 'attribute_changed', source_config: { attribute: 'tier' } };
  const action = { action_type: 'send_message', action_config: { messages: [] } };
  const rule = await insertRow(db, 'trigger_rule', {
    ...{ ...tenantColumns(tenant), name: '金 🏅', ...source, ...action },
    ...changes,
  });
  return String(rule.id);
}

/** A decision about person 7 at a time, unless said otherwise; its id. */
export async function insertDecision(db: Db, tenant: Tenant, changes: object = {}): Promise<string> {
  const row = await insertRow(db, 'trigger_log', {
    ...{ ...tenantColumns(tenant), user_id: USER, trigger_on: 'attribute_changed', decision: 'fired' },
    ...{ reason_code: 'matched', ...changes },
  });
  return String(row.id);
}

/** What person 7 did, decided at a time; its event id. */
export async function insertEvent(db: Db, tenant: Tenant, changes: object = {}): Promise<string> {
  const eventId = crypto.randomUUID();
  await insertRow(db, 'event_archive', {
    ...{ ...tenantColumns(tenant), user_id: USER, event_id: eventId, root_id: eventId, depth: 0, bulk: false },
    ...{ topic: 'form_submitted', payload: { id: '1', form_id: '9' } },
    ...{ occurred_at: '2026-01-01T00:00:00Z', recorded_at: '2026-01-01T00:00:00Z', ...changes },
  });
  return eventId;
}

interface CampaignRow {
  readonly frozenAt: string;
  readonly name?: string;
  readonly castType?: 'broadcast' | 'multicast';
  /** Of each chunk, sorted. */
  readonly chunks: readonly (readonly string[])[];
}

/** A campaign that LINE took all of, with its chunks; its id. */
export async function insertSentCampaign(
  db: Db,
  tenant: Tenant,
  { frozenAt, name = '祭り', castType = 'multicast', chunks }: CampaignRow,
): Promise<string> {
  const base = tenantColumns(tenant);
  const campaign = await insertRow(db, 'campaign', {
    ...{ ...base, name, cast_type: castType, status: 'draft', frozen_at: frozenAt, planned_count: 1 },
  });
  for (const [chunkNo, users] of chunks.entries()) {
    const people = castType === 'broadcast' ? {} : { user_ids: `{${users.join(',')}}`, user_count: users.length };
    await insertRow(db, 'campaign_chunk', { ...base, campaign_id: campaign.id, chunk_no: chunkNo, ...people });
    await insertRow(db, 'delivery', {
      ...{ ...base, kind: 'campaign', logical_id: campaign.id, endpoint: castType, ordinal: chunkNo },
      ...{ campaign_id: campaign.id, chunk_no: chunkNo, retry_key: crypto.randomUUID(), body_sha256: '' },
      ...{ body: JSON.stringify({ to: users }), status: 'accepted', accepted_at: frozenAt, first_attempt_at: frozenAt },
      ...{ deliver_until: '2030-01-01Z', line_request_id: `request-${chunkNo}` },
    });
  }
  return String(campaign.id);
}

import type { Tenant, TenantTicket } from '@dueline/contracts';
import { given, type Rows, rowsGiven, rowsOf, sharedGiven, sql, statement, type Tx } from '@dueline/db';
import { type LogicalSend, retryKey } from './retry-key.ts';

/** A row of the ledger as its cause makes it. */
export interface DeliveryRow extends Tenant, LogicalSend {
  readonly userId: string | null;
  readonly triggerRuleId: string | null;
  readonly scheduledActionId: string | null;
  readonly eventId: string | null;
  readonly rootId: string | null;
  readonly campaignId: string | null;
  readonly chunkNo: number | null;
  /** In how many requests the send goes out, of which this row is the part `ordinal`; left out: in one. */
  readonly groupSize?: number;
  /** Not before so many seconds have passed; left out: at once. */
  readonly startsInSeconds?: number | undefined;
  /** Exact JSON text of the request, in two parts: what it begins with, and what many requests end with alike. */
  readonly body: { readonly own: string; readonly shared: string };
  /** Instant after which it is not worth sending; null: a day from the decision. */
  readonly deliverUntil: string | null;
  readonly traceparent: string | undefined;
}

/** The JSON of a request to these people; null: to everybody, who are not named. */
export function requestBody({ to, messages }: { to: string | readonly string[] | null; messages: unknown }) {
  return { own: to === null ? '{' : `{"to":${JSON.stringify(to)},`, shared: `"messages":${JSON.stringify(messages)}}` };
}

export interface CreatedDelivery extends TenantTicket {
  readonly logicalId: string;
  /** Whether it calls a receiver on the web: those have a queue of their own. */
  readonly isWebhook: boolean;
}

/** Until when a message is worth sending, counted from the decision, in hours. Rules will be able to say less. */
export const DELIVER_WITHIN_HOURS = 24;

type Created = {
  id: string;
  fence: string;
  organization_id: string;
  line_oa_id: string;
  logical_id: string;
  is_webhook: boolean;
  is_due: boolean;
};

/**
 * none -> planned, due at once unless it starts later; a logical send that exists already is left out of what comes back, and so is what starts
 * later and a part that waits for the one before it.
 */
export async function insertDeliveries(tx: Tx, rows: readonly DeliveryRow[]): Promise<CreatedDelivery[]> {
  if (rows.length === 0) return [];
  const created = await insertSends(tx, { sends: rowsOf(rows, toRow), hours: DELIVER_WITHIN_HOURS });
  return created
    .filter(({ is_due }) => is_due)
    .map((row) => ({
      id: row.id,
      fence: row.fence,
      organizationId: row.organization_id,
      lineOaId: row.line_oa_id,
      logicalId: row.logical_id,
      isWebhook: row.is_webhook,
    }));
}

/** The database puts the request together and hashes it, so that what many requests have alike travels once. */
const insertSends = statement<Created, { sends: Rows; hours: number }>(sql`
  insert into delivery (organization_id, line_oa_id, kind, logical_id, epoch, endpoint, ordinal, group_size, user_id, trigger_rule_id,
                        scheduled_action_id, event_id, root_id, campaign_id, chunk_no, retry_key, body, body_sha256, traceparent,
                        published_at, next_attempt_at, deliver_until)
  select organization_id, line_oa_id, kind, logical_id, epoch, endpoint, ordinal, coalesce(group_size, 1), user_id, trigger_rule_id,
         scheduled_action_id, event_id, root_id, campaign_id, chunk_no, retry_key, body, encode(sha256(convert_to(body, 'UTF8')), 'hex'),
         traceparent, case when waits or starts_in > 0 then null else moment.published_at end as published_at,
         case when waits then 'infinity' else app_now() + make_interval(secs => coalesce(starts_in, 0)) end as next_attempt_at,
         coalesce(deliver_until, app_now() + make_interval(hours => ${given('hours')}::integer, secs => coalesce(starts_in, 0)))
    from (select clock_timestamp() as published_at) as moment
   cross join ${rowsGiven('sends')} as send (
           organization_id bigint, line_oa_id bigint, kind text, logical_id text, epoch integer, endpoint text, ordinal integer,
           group_size smallint, waits boolean, user_id text, trigger_rule_id bigint, scheduled_action_id bigint, event_id uuid, root_id uuid, campaign_id bigint, chunk_no integer,
           retry_key uuid, own_body text, shared_body integer, traceparent text, deliver_until timestamptz, starts_in float8)
   cross join lateral (select own_body || (${sharedGiven('sends', 'shared_body')} #>> '{}') as body offset 0) as request
   order by logical_id collate "C", kind, epoch, ordinal
      on conflict (logical_id, kind, epoch, ordinal, endpoint, split_path) do nothing
  returning id, fence, organization_id, line_oa_id, logical_id, endpoint = 'webhook' as is_webhook, next_attempt_at <= app_now() as is_due`);

const toRow = (row: DeliveryRow, share: (document: unknown) => number | null) => ({
  organization_id: row.organizationId,
  line_oa_id: row.lineOaId,
  kind: row.kind,
  logical_id: row.logicalId,
  epoch: row.epoch,
  endpoint: row.endpoint,
  ordinal: row.ordinal,
  ...(row.groupSize !== undefined && { group_size: row.groupSize, waits: row.ordinal > 0 }),
  user_id: row.userId,
  trigger_rule_id: row.triggerRuleId,
  scheduled_action_id: row.scheduledActionId,
  event_id: row.eventId,
  root_id: row.rootId,
  campaign_id: row.campaignId,
  chunk_no: row.chunkNo,
  retry_key: retryKey(row),
  own_body: row.body.own,
  shared_body: share(row.body.shared),
  traceparent: row.traceparent,
  deliver_until: row.deliverUntil,
  ...(row.startsInSeconds !== undefined && { starts_in: row.startsInSeconds }),
});

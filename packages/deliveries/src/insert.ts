import { createHash } from 'node:crypto';
import type { Tenant, TenantTicket } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
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
  /** Exact JSON text of the request. */
  readonly body: string;
  /** Instant after which it is not worth sending; null: a day from the decision. */
  readonly deliverUntil: string | null;
  readonly traceparent: string | undefined;
}

export interface CreatedDelivery extends TenantTicket {
  readonly logicalId: string;
}

/** Until when a message is worth sending, counted from the decision, in hours. Rules will be able to say less. */
const DELIVER_WITHIN_HOURS = 24;

type Created = { id: string; fence: string; organization_id: string; line_oa_id: string; logical_id: string };
type Cell = 'bigint' | 'integer' | 'text' | 'uuid' | 'timestamptz';

/** none -> planned, due at once; a logical send that exists already is left out of what comes back. */
export async function insertDeliveries(tx: Tx, rows: readonly DeliveryRow[]): Promise<CreatedDelivery[]> {
  if (rows.length === 0) return [];
  const col = (read: (row: DeliveryRow) => string | number | null | undefined, type: Cell) =>
    column(
      rows.map((row) => read(row) ?? null),
      type,
    );
  const created = await tx.execute<Created>(sql`
    insert into delivery (organization_id, line_oa_id, kind, logical_id, epoch, endpoint, ordinal, user_id, trigger_rule_id,
                          scheduled_action_id, event_id, root_id, campaign_id, chunk_no, retry_key, body, body_sha256, traceparent,
                          published_at, deliver_until)
    select organization_id, line_oa_id, kind, logical_id, epoch, endpoint, ordinal, user_id, trigger_rule_id,
           scheduled_action_id, event_id, root_id, campaign_id, chunk_no, retry_key, body, body_sha256, traceparent,
           clock_timestamp() as published_at, coalesce(deliver_until, app_now() + make_interval(hours => ${DELIVER_WITHIN_HOURS}))
      from unnest(
        ${col((row) => row.organizationId, 'bigint')}, ${col((row) => row.lineOaId, 'bigint')}, ${col((row) => row.kind, 'text')},
        ${col((row) => row.logicalId, 'text')}, ${col((row) => row.epoch, 'integer')}, ${col((row) => row.endpoint, 'text')},
        ${col((row) => row.ordinal, 'integer')}, ${col((row) => row.userId, 'text')}, ${col((row) => row.triggerRuleId, 'bigint')},
        ${col((row) => row.scheduledActionId, 'bigint')}, ${col((row) => row.eventId, 'uuid')}, ${col((row) => row.rootId, 'uuid')},
        ${col((row) => row.campaignId, 'bigint')}, ${col((row) => row.chunkNo, 'integer')}, ${col(retryKey, 'uuid')},
        ${col((row) => row.body, 'text')}, ${col((row) => sha256(row.body), 'text')}, ${col((row) => row.traceparent, 'text')},
        ${col((row) => row.deliverUntil, 'timestamptz')})
        as send (organization_id, line_oa_id, kind, logical_id, epoch, endpoint, ordinal, user_id, trigger_rule_id, scheduled_action_id,
                 event_id, root_id, campaign_id, chunk_no, retry_key, body, body_sha256, traceparent, deliver_until)
     order by logical_id collate "C", kind, epoch, ordinal
        on conflict do nothing
    returning id, fence, organization_id, line_oa_id, logical_id`);
  return created.rows.map((row) => ({
    id: row.id,
    fence: row.fence,
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
    logicalId: row.logical_id,
  }));
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

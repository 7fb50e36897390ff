import { createHash } from 'node:crypto';
import type { ActionRequest, Tenant, TenantTicket } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { type LogicalSend, retryKey } from './retry-key.ts';

/** An action that was decided and shall reach one person. */
export interface DeliveryToCreate extends Tenant {
  readonly channelId: string;
  readonly kind: 'action' | 'event';
  readonly logicalId: string;
  readonly epoch: number;
  readonly userId: string;
  readonly request: ActionRequest;
  readonly triggerRuleId: string | null;
  readonly scheduledActionId: string | null;
  readonly eventId: string | null;
  readonly rootId: string | null;
  readonly traceparent: string | undefined;
}

/** Until when a message is worth sending, counted from the decision, in hours. Rules will be able to say less. */
const DELIVER_WITHIN_HOURS = 24;

export interface CreatedDelivery extends TenantTicket {
  readonly logicalId: string;
}

/**
 * none -> planned, due at once, with its retry key and the exact bytes of its request, in the transaction that finishes the
 * cause. A logical send that exists already is left out of what comes back. `published_at` is set, because the caller
 * publishes the tickets as soon as it has committed; {@link unpublishDeliveries} takes that back.
 */
export async function createDeliveries(tx: Tx, sends: readonly DeliveryToCreate[]): Promise<CreatedDelivery[]> {
  if (sends.length === 0) return [];
  const rows = sends.map(toRow);
  const col = (read: (row: DeliveryRow) => string | number | null, type: 'bigint' | 'integer' | 'text' | 'uuid') =>
    column(rows.map(read), type);
  const created = await tx.execute<{
    id: string;
    fence: string;
    organization_id: string;
    line_oa_id: string;
    logical_id: string;
  }>(sql`
    insert into delivery (organization_id, line_oa_id, kind, logical_id, epoch, endpoint, user_id, trigger_rule_id, scheduled_action_id,
                          event_id, root_id, retry_key, body, body_sha256, traceparent, published_at, deliver_until)
    select send.*, clock_timestamp() as published_at, app_now() + make_interval(hours => ${DELIVER_WITHIN_HOURS})
      from unnest(
        ${col((row) => row.organizationId, 'bigint')}, ${col((row) => row.lineOaId, 'bigint')}, ${col((row) => row.kind, 'text')},
        ${col((row) => row.logicalId, 'text')}, ${col((row) => row.epoch, 'integer')}, ${col((row) => row.endpoint, 'text')},
        ${col((row) => row.userId, 'text')}, ${col((row) => row.triggerRuleId, 'bigint')},
        ${col((row) => row.scheduledActionId, 'bigint')}, ${col((row) => row.eventId, 'uuid')}, ${col((row) => row.rootId, 'uuid')},
        ${col((row) => row.retryKey, 'uuid')}, ${col((row) => row.body, 'text')}, ${col((row) => row.bodySha256, 'text')},
        ${col((row) => row.traceparent ?? null, 'text')})
        as send (organization_id, line_oa_id, kind, logical_id, epoch, endpoint, user_id, trigger_rule_id, scheduled_action_id,
                 event_id, root_id, retry_key, body, body_sha256, traceparent)
     order by kind, logical_id, epoch
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

type DeliveryRow = DeliveryToCreate & { endpoint: 'push'; retryKey: string; body: string; bodySha256: string };

function toRow(send: DeliveryToCreate): DeliveryRow {
  const logical: LogicalSend = { ...send, endpoint: 'push', ordinal: 0, splitPath: '' };
  const body = JSON.stringify({ to: send.userId, messages: send.request.actionConfig.messages });
  return {
    ...send,
    endpoint: 'push',
    retryKey: retryKey(logical),
    body,
    bodySha256: createHash('sha256').update(body).digest('hex'),
  };
}
